/** Reads the values of flags that several verbs take. */
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { InvalidArgumentError } from "commander";

export const collect = (value: string, before: string[] = []) => [...before, value];

export function parseVariable(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined) throw new InvalidArgumentError("must be NAME=value");
  return { ...before, [name]: value! };
}

export const parseCount =
  (least: number, most: number) =>
  (text: string): number => {
    const count = Number(text);
    if (!/^\d{1,9}$/.test(text) || count < least || count > most)
      throw new InvalidArgumentError(`must be a whole number from ${least} to ${most}`);
    return count;
  };

/** The variables of files in which each line is NAME=value. A later file comes before an earlier one. */
export async function variablesIn(files: readonly string[] = []): Promise<Record<string, string>> {
  const read = await Promise.all(files.map(async (file) => parseEnv(await readFile(file, "utf8"))));
  return Object.assign({}, ...read);
}
