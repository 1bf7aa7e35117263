/** Cancellation: `run.signal` aborts when the job is cancelled or times out. Pass it to everything that takes long. */
import { setTimeout } from "node:timers/promises";
import { start } from "millrace-worker";

start<{ seconds: number }>({
  async handler({ input }, run) {
    try {
      await setTimeout(input.seconds * 1000, undefined, { signal: run.signal });
      return "slept well";
    } finally {
      console.log("the bed is made");
    }
  },
});
