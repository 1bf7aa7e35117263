/** Why a job waits, in one sentence: from whoever keeps workers, or else as far as the queue itself can tell. */
import type { Job } from "../ports/queue/job.ts";
import type { Counts, HolderState } from "../ports/queue/queue.ts";

export function waitReason(
  job: Job,
  { inQueue }: Counts,
  holders: readonly HolderState[],
  ofWorkers: string | undefined,
): string {
  const sentence = ofWorkers ?? whoCouldTakeIt(inQueue, holders);
  return job.reason === undefined ? sentence : `${sentence}; last attempt: ${job.reason}`;
}

function whoCouldTakeIt(inQueue: number, holders: readonly HolderState[]): string {
  const waiting = inQueue === 1 ? "1 job in the queue" : `${inQueue} jobs in the queue`;
  if (holders.length === 0) return `no worker is connected (${waiting})`;
  const busy = holders.filter(({ jobs }) => jobs > 0).length;
  if (busy === holders.length)
    return `all ${holders.length} ${holders.length === 1 ? "worker" : "workers"} busy (${waiting})`;
  return `waiting for one of ${holders.length - busy} idle workers to ask for it (${waiting})`;
}
