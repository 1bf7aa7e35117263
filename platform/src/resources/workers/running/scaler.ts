/** Decides how many workers an endpoint should have, and which idle ones can end. Pure functions of queue and headcount. */
import type { EndpointType, Scaling } from "../../endpoints/model.ts";

export interface ScalingPolicy {
  min: number;
  max: number;
  idleTimeoutMs: number;
  scaling: Scaling;
}

/** Jobs that ask for workers. Low-priority jobs only use the workers that exist. */
export interface Workload {
  waiting: number;
  lowPriorityWaiting: number;
  inProgress: number;
  /** When the oldest of the jobs that ask for workers began to wait. */
  waitingSince: readonly number[];
}

export interface Headcount {
  /** Workers on their way. Each will take a job as soon as it is ready. */
  starting: number;
  /** Workers that ask for work or have some. */
  ready: number;
  /** The ready workers without a job. */
  idle: number;
}

/** Workers of a queue that scales by request count idle this long, whatever the endpoint says. */
const REQUEST_COUNT_IDLE_MS = 5000;

export function idleTimeoutOf(idleTimeoutS: number, scaling: Scaling, type: EndpointType = "QUEUE"): number {
  return type === "QUEUE" && scaling.type === "REQUEST_COUNT" ? REQUEST_COUNT_IDLE_MS : idleTimeoutS * 1000;
}

/** How many workers there should be now, always from `min` to `max`. The number only falls when workers idle. */
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
 * The first job gets a worker at once if there are none. After that, each job that has waited too long gets one, unless a worker that is
 * idle or on its way will take it.
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

/** Jobs that no worker that is idle or on its way will take. They are reason enough for a thaw, long before a start. */
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

/** Workers that were idle too long, the longest idle first. Workers that jobs or `min` ask for stay. */
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
