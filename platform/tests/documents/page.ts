/** A document and the way in which its blocks run: in order, in one shell, each answer compared with the one that is shown. */
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { type Step, stepsIn } from "../../../scripts/documents/blocks.ts";
import { differences } from "../../../scripts/documents/pattern.ts";
import { root } from "../process.ts";
import type { Bash } from "./bash.ts";

export interface Page {
  path: string;
  text: string;
  steps: Step[];
}

export const readPage = async (path: string): Promise<Page> => {
  const text = await readFile(join(root, path), "utf8");
  return { path, text, steps: stepsIn(text) };
};
/** Runs every block that can run here. `translated` puts the addresses of this run in the place of those that a reader has. */
export async function runSteps({ path, steps }: Page, bash: Bash, translated: (code: string) => string): Promise<void> {
  for (const step of steps.filter(isRun)) {
    const place = `${path}:${step.line}`;
    const { output, failed } = await bash.run(translated(step.code), step["ends after"]);
    expect(failed && `${place}: ${failed}${output}`).toBe("");
    expect(wrongIn(step, output).map((wrong) => `${place}: ${wrong}\n${output}`)).toEqual([]);
  }
}

export function isRun(step: Step): boolean {
  return step["not run"] === undefined && (step.needs === undefined || isThere(step.needs));
}

/** Some programs know no `--version` and fail then. A name without a program behind it ends with 126 or 127. */
function isThere(program: string): boolean {
  try {
    const asked = `command -v ${program} && { ${program} --version; test $? -lt 126; }`;
    execFileSync("sh", ["-c", asked], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** GraphQL answers a refused query with 200. */
const REFUSED = '"errors":[{"message"';

function wrongIn({ answer }: Step, output: string): string[] {
  if (output.includes(REFUSED)) return ["GraphQL refuses it"];
  if (!answer) return [];
  const last = output.split("\n").at(-1)!;
  const text = [output, last].find((one) => parsed(one) !== undefined);
  return text === undefined ? ["the answer is not JSON"] : differences(answer.code, parsed(text));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
