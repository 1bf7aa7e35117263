/** Runs up to ten jobs at once in one process, which suits work that mostly waits. */
import { setTimeout } from "node:timers/promises";
import { start } from "millrace-worker";

let running = 0;

start<{ ms: number }>({
  concurrency: 10,
  async handler({ input }) {
    running++;
    const beside = running;
    await setTimeout(input.ms);
    running--;
    return { jobsAtThisMoment: beside };
  },
});
