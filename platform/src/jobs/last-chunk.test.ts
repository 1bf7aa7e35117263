/** The last chunk of an attempt is found, whatever later attempts have streamed. */
import { expect, test } from "vitest";
import type { Chunk, Queue } from "../ports/queue/queue.ts";
import { lastSequence } from "./last-chunk.ts";

const chunk = (attempt: number, sequence: number): Chunk => ({ id: "j1", attempt, sequence, text: "" });

/** A queue that has these chunks, in order. It refuses to be read for ever. */
function having(...chunks: Chunk[]): Pick<Queue, "chunks"> {
  let reads = 0;
  return {
    async chunks(_, after, limit) {
      if (++reads > 10) throw new Error("it reads for ever");
      const isAfter = ({ attempt, sequence }: Chunk) =>
        attempt > after.attempt || (attempt === after.attempt && sequence > after.sequence);
      return chunks.filter(isAfter).slice(0, limit);
    },
  };
}

test("an attempt that another one has followed has its own last chunk", async () => {
  const queue = having(chunk(2, 1), chunk(2, 2), chunk(5, 1), chunk(5, 2), chunk(5, 3));
  expect(await lastSequence(queue, "j1", 2)).toBe(2);
  expect(await lastSequence(queue, "j1", 5)).toBe(3);
});

test("an attempt that has streamed nothing has no last chunk, although a later one has some", async () => {
  expect(await lastSequence(having(chunk(5, 1)), "j1", 2)).toBe(0);
});

test("more chunks than are read at once are counted", async () => {
  const many = Array.from({ length: 450 }, (_, i) => chunk(1, i + 1));
  expect(await lastSequence(having(...many, chunk(2, 1)), "j1", 1)).toBe(450);
});
