/** Progress: the newest value is the `output` in `/status` while the job runs. */
import { start } from "millrace-worker";

start<{ pages: string[] }>({
  async handler({ input }, run) {
    const lengths: number[] = [];
    for (const page of input.pages) {
      lengths.push((await fetch(page).then((response) => response.text())).length);
      run.progress({ done: lengths.length, of: input.pages.length });
    }
    return lengths;
  },
});
