/** Refresh: a fresh process after a job that asks for it, here after one that would have left too much behind. */
import { start } from "millrace-worker";

start({
  handler: ({ input }) => ({ size: input.size, refresh_worker: Number(input.size) > 1000 }),
});
