/** Reads the values of settings, and says what is wrong with those that cannot be. */
import { isAbsolute } from "node:path";

/** Requests go to paths at its root: a path of its own would be lost without a word. */
export function originIn(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
    throw new Error(`${name} must be a URL such as http://10.0.0.5:7420 without a path, not '${text}'`);
  return url.origin;
}

export function outputIn(text: string): { program: number; machine: number } {
  const [program, machine, ...more] = text.split(",").map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : 0));
  if (!program || !machine || more.length > 0 || machine < program)
    throw new Error(`MILLRACE_OUTPUT_MB must be two whole numbers such as 12,1024, the larger one last, not '${text}'`);
  return { program, machine };
}

export function foldersIn(name: string, text: string | undefined): string[] | undefined {
  const folders = text?.split(":");
  const wrong = folders?.find((folder) => !isAbsolute(folder));
  if (wrong !== undefined) throw new Error(`${name} must be absolute paths with colons between, not '${text}'`);
  return folders;
}

/** Two ports, of which neither is the system's own; both ends belong to it. */
export function rangeIn(name: string, text: string): { first: number; last: number } {
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text)?.map(Number) ?? [];
  if (!first || !last || first < 1024 || last > 65_535 || first >= last)
    throw new Error(`${name} must be a range of ports from 1024 on such as 20000-29999, not '${text}'`);
  return { first, last };
}

export function integerIn(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw new Error(`${name} must be a whole number from ${least} to ${most}, not '${text}'`);
  return value;
}

export function oneOf<T extends string>(name: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === text);
  if (found === undefined) throw new Error(`${name} must be one of ${allowed.join(", ")}, not '${text}'`);
  return found;
}
