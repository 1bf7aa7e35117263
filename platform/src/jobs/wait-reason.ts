/** Why a job waits, in one sentence: from the fleet, or else as far as the queue itself can tell. */
import { withPlacesHidden } from "../kernel/reason.ts";
import type { Job } from "../ports/queue/job.ts";
import type { Counts, HolderState } from "../ports/queue/queue.ts";
import { isSilent, silentMs, silentWorkers } from "./silence.ts";

export function waitReason(
  job: Job,
  { inQueue }: Counts,
  holders: readonly HolderState[],
  ofWorkers: string | undefined,
  now: number,
): string {
  const sentence = ofWorkers ?? whoCouldTakeIt(inQueue, holders, now);
  return withPlacesHidden(job.reason === undefined ? sentence : `${sentence}; last attempt: ${job.reason}`);
}

function whoCouldTakeIt(inQueue: number, known: readonly HolderState[], now: number): string {
  const waiting = inQueue === 1 ? "1 job in the queue" : `${inQueue} jobs in the queue`;
  const holders = known.filter((holder) => !isSilent(holder));
  const silent = silentWorkers(known.filter(isSilent).map(silentMs), now);
  if (holders.length === 0) return `${silent ?? "no worker is connected"} (${waiting})`;
  const more = silent === undefined ? "" : `; ${silent}`;
  const busy = holders.filter(({ jobs }) => jobs > 0).length;
  if (busy === holders.length)
    return `${holders.length === 1 ? "the only worker is" : `all ${holders.length} workers`} busy${more} (${waiting})`;
  return `waiting for ${oneOfIdle(holders.length - busy)} to ask for it${more} (${waiting})`;
}

export const oneOfIdle = (count: number) => (count === 1 ? "the idle worker" : `one of ${count} idle workers`);
