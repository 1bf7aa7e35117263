/** Writes down which test files run and which tests fail, so that the test command can tell what hangs and what to run once more. */
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
    if (state === "failed") note({ step: "failed", file: test.module.moduleId, name: nameOf(test) });
    else note(state === "passed" ? { step: "passed" } : { step: "skipped" });
  }

  onTestModuleEnd(module: TestModule): void {
    const anyTest = [...module.children.allTests()].some((test) => test.result().state === "failed");
    if (module.state() === "failed" && !anyTest) note({ step: "failed", file: module.moduleId });
    note({ step: "ended", file: module.moduleId });
  }
}

/** As the option that picks tests by their names sees it: all names above it, with spaces between. */
function nameOf(test: TestCase): string {
  const names = [test.name];
  for (let above = test.parent; above.type === "suite"; above = above.parent) names.unshift(above.name);
  return names.join(" ");
}
