/** How many workers an endpoint should have, and which idle ones it can do without: pure decisions on queue and headcount. */
import type { EndpointType, Scaling } from "../../endpoints/model.ts";

export interface ScalingPolicy {
  min: number;
  max: number;
  idleTimeoutMs: number;
  scaling: Scaling;
}

/** Jobs that ask for workers. Low-priority jobs are content with the workers that are there. */
export interface Workload {
  waiting: number;
  lowPriorityWaiting: number;
  inProgress: number;
  /** Since when the oldest of those that ask for workers wait. */
  waitingSince: readonly number[];
}

export interface Headcount {
  /** On their way: they will take a job each as soon as they are there. */
  starting: number;
  /** Those that ask for work or have some. */
  ready: number;
  /** Those of them without a job. */
  idle: number;
}

/** A queue that is scaled by requests idles this long, whatever the endpoint says. */
const REQUEST_COUNT_IDLE_MS = 5000;

export function idleTimeoutOf(idleTimeoutS: number, scaling: Scaling, type: EndpointType = "QUEUE"): number {
  return type === "QUEUE" && scaling.type === "REQUEST_COUNT" ? REQUEST_COUNT_IDLE_MS : idleTimeoutS * 1000;
}

/** How many workers there should be now, never below `min` nor above `max`. Fewer come about by idling alone. */
export function wantedWorkers(
  { min, max, scaling }: ScalingPolicy,
  workload: Workload,
  headcount: Headcount,
  now: number,
): number {
  const have = headcount.starting + headcount.ready;
  const wanted =
    scaling.type === "QUEUE_DELAY"
      ? have + missingForDelay(scaling.queueDelay * 1000, workload, headcount, now)
      : Math.max(have, Math.ceil((workload.waiting + workload.inProgress) / scaling.requestCount));
  return Math.min(max, Math.max(min, wanted));
}

/**
 * The first job at zero workers gets one at once. After that, one more for every job that has waited too long and that nobody who
 * is idle or on the way will take.
 */
function missingForDelay(
  delayMs: number,
  workload: Workload,
  { starting, ready, idle }: Headcount,
  now: number,
): number {
  const overdue = workload.waitingSince.filter((since) => now - since >= delayMs).length;
  const missing = Math.max(0, overdue - starting - idle);
  return workload.waiting > 0 && starting + ready === 0 ? Math.max(1, missing) : missing;
}

/** Jobs that nobody who is idle or on the way will take: reason enough to thaw a worker, long before one is started. */
export function unattendedJobs(
  { scaling }: ScalingPolicy,
  { waiting }: Workload,
  { starting, idle }: Headcount,
): number {
  return scaling.type === "QUEUE_DELAY" ? Math.max(0, waiting - starting - idle) : 0;
}

export interface Idle {
  id: string;
  since: number;
}

/** Idle workers whose time is over, the longest idle first; what the work or `min` asks for stays. */
export function idleTooLong(
  idle: readonly Idle[],
  have: number,
  policy: ScalingPolicy,
  workload: Workload,
  now: number,
): string[] {
  if (workload.waiting + workload.lowPriorityWaiting > 0) return [];
  const { scaling, min } = policy;
  const kept =
    scaling.type === "REQUEST_COUNT" ? Math.max(min, Math.ceil(workload.inProgress / scaling.requestCount)) : min;
  return idle
    .filter(({ since }) => now - since >= policy.idleTimeoutMs)
    .sort((a, b) => a.since - b.since)
    .slice(0, Math.max(0, have - kept))
    .map(({ id }) => id);
}
