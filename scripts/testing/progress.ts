/** The progress of a test run: a file of lines that the reporter writes and the test command reads. */
import { readFileSync } from "node:fs";

/** The reporter gets the file's name in this variable. */
export const PROGRESS_FILE = "MILLRACE_TEST_PROGRESS";

export type Step =
  | { step: "began"; file: string }
  | { step: "ended"; file: string }
  /** `name` is absent if the file itself failed: it could not be loaded, or one of its hooks threw. */
  | { step: "failed"; file: string; name?: string }
  | { step: "passed" }
  | { step: "skipped" };

export interface Failure {
  file: string;
  /** The failed tests, or none if the file itself failed. */
  names: string[];
}

export interface Progress {
  /** Files that began and have not ended. */
  running: string[];
  failures: Failure[];
  passed: number;
  skipped: number;
}

export function readProgress(file: string): Progress {
  let text = "";
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    // A stage that runs no tests writes none.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  // A killed reporter may have left half a line.
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  return progressOf(
    whole
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Step),
  );
}

export function progressOf(steps: readonly Step[]): Progress {
  const running = new Set<string>();
  const failures = new Map<string, Set<string>>();
  let [passed, skipped] = [0, 0];
  for (const one of steps) {
    if (one.step === "began") running.add(one.file);
    else if (one.step === "ended") running.delete(one.file);
    else if (one.step === "passed") passed++;
    else if (one.step === "skipped") skipped++;
    else {
      const names = failures.get(one.file) ?? new Set();
      if (one.name !== undefined) names.add(one.name);
      failures.set(one.file, names);
    }
  }
  const listed = [...failures].map(([file, names]) => ({ file, names: [...names] }));
  return { running: [...running], failures: listed, passed, skipped };
}
