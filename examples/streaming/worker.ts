/** Streams the words of its input, one at a time. The words together are the output. */
import { start } from "millrace-worker";

start<{ text: string }>({
  aggregate: true,
  async *handler({ input }) {
    for (const word of input.text.split(" ")) yield word;
  },
});
