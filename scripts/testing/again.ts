/** Tests that failed, run once more: by themselves, and believed only if they really ran. */
import type { Failure, Progress } from "./progress.ts";
import type { Stage } from "./stage.ts";

/** The stage with nothing but what failed in one file. Where the file itself failed, all of it. */
export function alone({ name, command }: Stage, { file, names }: Failure): Stage {
  const only = names.length === 0 ? [] : ["-t", patternOf(names)];
  return { name: `${name} again`, command: [...command, file, ...only, "--maxWorkers=1"] };
}

/** A pattern that these names alone fit. A seed in a name is another one each time. */
export function patternOf(names: readonly string[]): string {
  const literal = (name: string) => name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replace(/(seeds? )\d+/g, "$1\\d+");
  return `^(${names.map(literal).join("|")})$`;
}

/** A run that found none of the tests succeeds too. */
export const isMended = (passed: boolean, progress: Progress, { names }: Failure): boolean =>
  passed && progress.passed >= Math.max(1, names.length);
