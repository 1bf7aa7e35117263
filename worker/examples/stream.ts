/** A generator streams: clients read each yielded value from `/stream` as it arrives, and all of them as the output. */
import { start } from "millrace-worker";

start<{ text: string }>({
  aggregate: true,
  async *handler({ input }) {
    for (const word of input.text.split(" ")) yield word;
  },
});
