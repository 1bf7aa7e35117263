/** Shows how far it is while it runs, and stops when its job is cancelled. */
import { setTimeout } from "node:timers/promises";
import { start } from "millrace-worker";

start<{ steps: number; msPerStep: number }>({
  async handler({ input: { steps, msPerStep } }, run) {
    for (let done = 1; done <= steps; done++) {
      await setTimeout(msPerStep, undefined, { signal: run.signal });
      run.progress({ done, of: steps });
    }
    return { steps };
  },
});
