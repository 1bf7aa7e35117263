/** The memory queue keeps the port's promises. */
import { NOW } from "./conformance-jobs.ts";
import { MemoryQueue } from "./memory-queue.ts";
import { queueConformance } from "./queue.conformance.ts";

queueConformance("MemoryQueue", async () => {
  const queue = new MemoryQueue(NOW);
  return {
    queue,
    reopen: { cannot: "a memory queue ends with its process" },
    another: { cannot: "a memory queue is in one process" },
    [Symbol.asyncDispose]: () => queue[Symbol.asyncDispose](),
  };
});
