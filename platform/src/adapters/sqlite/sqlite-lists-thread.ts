/** The thread that reads lists of jobs, one after another. */
import { parentPort, workerData } from "node:worker_threads";
import { SmallHeap } from "../../kernel/collector.ts";
import type { JobFilter } from "../../ports/queue/queue.ts";
import { type ListAnswer, listJobs } from "./sqlite-lists.ts";
import { openForReading } from "./writer.ts";

const port = parentPort!;
const db = openForReading(workerData as string);

const heap = new SmallHeap();

port.on("message", ({ id, filter }: { id: number; filter: JobFilter }) => {
  port.postMessage(answerTo(id, filter));
  heap.tidy();
});

function answerTo(id: number, filter: JobFilter): ListAnswer {
  try {
    return { id, listed: listJobs(db, filter) };
  } catch (error) {
    return { id, failed: (error as Error).message };
  }
}
