/** Runs failed tests once more by themselves, and counts them as passed only if they really ran. */
import type { Failure, Progress } from "./progress.ts";
import type { Stage } from "./stage.ts";

/** Returns the stage with only the failed tests of one file, or the whole file if the file itself failed. */
export function alone({ name, command }: Stage, { file, names }: Failure): Stage {
  const only = names.length === 0 ? [] : ["-t", patternOf(names)];
  return { name: `${name} again`, command: [...command, file, ...only, "--maxWorkers=1"] };
}

/** Returns a pattern that matches exactly these names. A seed in a name changes with each run. */
export function patternOf(names: readonly string[]): string {
  const literal = (name: string) => name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&").replace(/(seeds? )\d+/g, "$1\\d+");
  return `^(${names.map(literal).join("|")})$`;
}

/** A run that found none of the tests also succeeds, so the number of passed tests is checked. */
export const isMended = (passed: boolean, progress: Progress, { names }: Failure): boolean =>
  passed && progress.passed >= Math.max(1, names.length);
