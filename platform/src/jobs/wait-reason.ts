/** Says why a job waits: the reason that the fleet gives, or else what the queue itself can tell. */
import { adding, because, type Reason, reworded, together, withPlacesHidden } from "../kernel/reason.ts";
import type { Job } from "../ports/queue/job.ts";
import type { Counts, HolderState } from "../ports/queue/queue.ts";
import type { Freedom } from "./overruns.ts";
import { isSilent, silentMs, silentWorkers } from "./silence.ts";

/** The workers that the queue knows, and which workers without a job are free for one. */
export interface Workforce {
  holders: readonly HolderState[];
  freedom: Freedom;
}

export function waitReason(
  job: Job,
  counts: Counts,
  workforce: Workforce,
  ofWorkers: Reason | undefined,
  now: number,
): Reason {
  const reason = servesOthers(job, workforce, ofWorkers) ?? queueReason(counts, workforce, ofWorkers, now);
  return withPlacesHidden(job.reason === undefined ? reason : adding(reason, `; last attempt: ${job.reason}`));
}

/** Where each worker serves one account: whether there are workers, but none for this one. */
function servesOthers({ caller = "" }: Job, { holders }: Workforce, ofWorkers: Reason | undefined): Reason | undefined {
  if (ofWorkers !== undefined && ofWorkers.code !== "workers-busy") return undefined;
  const heard = holders.filter((holder) => !isSilent(holder));
  const isFree = (holder: HolderState) => holder.caller === undefined || holder.caller === caller;
  return heard.length === 0 || heard.some(isFree) ? undefined : because("serves-others", { workers: heard.length });
}

/** Why the jobs in the queue of an endpoint wait, all of them alike. */
export const queueReason = (
  { inQueue }: Counts,
  workforce: Workforce,
  ofWorkers: Reason | undefined,
  now: number,
): Reason => ofWorkers ?? whoCouldTakeIt(inQueue, workforce, now);

function whoCouldTakeIt(inQueue: number, { holders: known, freedom }: Workforce, now: number): Reason {
  const waiting = inQueue === 1 ? "1 job in the queue" : `${inQueue} jobs in the queue`;
  const holders = known.filter((holder) => !isSilent(holder));
  const silent = silentWorkers(known.filter(isSilent).map(silentMs), now);
  const found = holders.length === 0 ? (silent ?? because("no-worker")) : beside(whoHasTime(holders, freedom), silent);
  return reworded(found, (text) => `${text} (${waiting})`);
}

function whoHasTime(holders: readonly HolderState[], { overruns, unknown }: Freedom): Reason {
  const busy = holders.filter(({ holder, jobs }) => jobs > 0 || overruns.has(holder)).length;
  if (busy === holders.length) return because("workers-busy", { workers: busy });
  return because("waits-for-ask", { idle: holders.length - busy, unknown });
}

const beside = (reason: Reason, silent: Reason | undefined) => (silent ? together([reason, silent], reason) : reason);
