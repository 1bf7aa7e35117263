/** An async function that runs ten jobs at once. An error that it throws becomes the job's error. */
import { readFile } from "node:fs/promises";
import { start } from "millrace-worker";

start<{ path: string }>({
  concurrency: 10,
  async handler({ input }) {
    const text = await readFile(input.path, "utf8");
    return { lines: text.split("\n").length };
  },
});
