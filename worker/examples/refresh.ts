/** Refresh: a job asks for a new process after it, here because a large one would leave too much behind. */
import { start } from "millrace-worker";

start({
  handler: ({ input }) => ({ size: input.size, refresh_worker: Number(input.size) > 1000 }),
});
