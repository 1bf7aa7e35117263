/** Writes down which test files run and which tests fail, so that the test command knows what hangs and what to run again. */
import { appendFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { PROGRESS_FILE, type Step } from "./progress.ts";

const file = process.env[PROGRESS_FILE];

function note(step: Step): void {
  if (file) appendFileSync(file, `${JSON.stringify(step)}\n`);
}

export default class ProgressReporter implements Reporter {
  onTestModuleStart({ moduleId }: TestModule): void {
    note({ step: "began", file: moduleId });
  }

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    if (state === "failed") note({ step: "failed", file: test.module.moduleId, name: test.fullName });
    else note(state === "passed" ? { step: "passed" } : { step: "skipped" });
  }

  onTestModuleEnd(module: TestModule): void {
    const anyTest = [...module.children.allTests()].some((test) => test.result().state === "failed");
    if (module.state() === "failed" && !anyTest) note({ step: "failed", file: module.moduleId });
    note({ step: "ended", file: module.moduleId });
  }
}
