/** The rules for every step of a job: a function from a step to the rule that it breaks. */

import { workerOf } from "../../src/jobs/holder.ts";
import { ATTEMPTS } from "../../src/jobs/moves.ts";
import { RETENTION_MS } from "../../src/jobs/retention.ts";
import { type Job, jobLifecycle } from "../../src/ports/queue/job.ts";
import type { Durable, Track } from "./ledger.ts";

/** One run of a job's handler in a worker. */
export interface Run {
  /** Appears in everything that the run reports. */
  name: string;
  worker: string;
  job: string;
  /** Set by workers that report the attempt. */
  attempt: number | undefined;
  beganAtMs: number;
}

/** What else is true when a step is made. */
export interface Circumstances {
  wall(): number;
  /** The latest time that the clock has ever shown. */
  highest(): number;
  runIn(text: string): Run | undefined;
  /** Whether the worker was silent for long enough, or is known to have ended. */
  mayBeLost(worker: string | undefined): boolean;
}

type Step = (
  track: Track,
  before: Job,
  after: Job,
  given: string | null | undefined,
  so: Circumstances,
) => string | undefined;

/** Undefined when the step is allowed. `given` is the result that came with it: a text, null to remove the result, or undefined. */
export function brokenRule(
  track: Track,
  before: Durable,
  after: Durable,
  given: string | null | undefined,
  so: Circumstances,
): string | undefined {
  const { job: from } = before;
  const { job: to } = after;
  if (to.spent > ATTEMPTS) return `has spent ${to.spent} attempts`;
  const step = from.state === to.state ? stays : steps[`${from.state} ${to.state}`];
  if (!step) return `went from ${from.state} to ${to.state}`;
  return (
    step(track, from, to, given, so) ?? (jobLifecycle.isFinal(to.state) ? wrongEnd(track, from, to, so) : undefined)
  );
}

const stays: Step = (_, before, after) => {
  if (before.holder !== after.holder || before.attempt !== after.attempt)
    return `went from ${before.holder} (attempt ${before.attempt}) to ${after.holder} (attempt ${after.attempt}) while ${after.state}`;
  if (before.endedAt !== after.endedAt) return "ended twice";
  const isKeptLonger = (after.expiresAt ?? 0) > (before.expiresAt ?? 0);
  if (isKeptLonger || after.policy.retentionMs > before.policy.retentionMs) return "is kept longer than it was";
  return undefined;
};

const begins: Step = (track, before, after, _, so) => {
  if (!track.durable) return "began before it was on the disk";
  if (!after.holder) return "was begun by nobody";
  if (after.attempt !== before.attempt && after.attempt !== before.attempt + 1)
    return `skipped to attempt ${after.attempt}`;
  if (after.spent !== before.spent + 1) return "began without spending an attempt";
  return after.deadline === so.wall() + after.policy.executionTimeoutMs ? undefined : "has a wrong deadline";
};

const ends: Step = (track, before, after, given, so) => {
  if (typeof given === "string") return wrongResult(track, before, given, so);
  if (after.state === "COMPLETED") return "was completed without a result";
  if (before.spent < ATTEMPTS) return `was given up after ${before.spent} attempts`;
  return wrongLoss(before, after, so);
};

const returns: Step = (track, before, after, _, so) => {
  if (after.retried === before.retried) {
    if (track.handedOut.has(before.attempt)) return "was taken back from a worker that has it";
    return after.spent === before.spent - 1 ? undefined : "was handed back at a price";
  }
  if (after.errorsRetried > before.errorsRetried) {
    if (after.errorsRetried > after.policy.errorRetries) return "was tried again after too many errors";
    return after.spent === before.spent - 1 ? undefined : "paid for an error with an attempt";
  }
  if (before.spent >= ATTEMPTS) return "was tried again after its last attempt";
  if (after.spent !== before.spent) return "cost a worker and no attempt";
  return wrongLoss(before, after, so);
};

const timesOut: Step = (_, before, after, __, so) => {
  if (after.reason?.includes("time to live")) return after.ttlAt <= so.highest() ? undefined : "timed out too early";
  return (before.deadline ?? Number.POSITIVE_INFINITY) <= so.highest()
    ? undefined
    : "ran out of execution time too early";
};

const cancels: Step = (track) => (track.asked.cancel === 0 ? "was cancelled when nobody asked for it" : undefined);

const retries: Step = (track, _, after, given, so) => {
  if (track.asked.retry <= track.retries) return "was retried when nobody asked for it";
  if (given !== null) return "kept its old output when it was retried";
  if (after.spent !== 0) return "was retried without a fresh budget";
  return after.ttlAt === so.wall() + after.policy.ttlMs ? undefined : "was retried with an old time to live";
};

const steps: { [step: string]: Step } = {
  "IN_QUEUE IN_PROGRESS": begins,
  "IN_PROGRESS COMPLETED": ends,
  "IN_PROGRESS FAILED": ends,
  "IN_PROGRESS IN_QUEUE": returns,
  "IN_QUEUE TIMED_OUT": timesOut,
  "IN_PROGRESS TIMED_OUT": timesOut,
  "IN_QUEUE CANCELLED": cancels,
  "IN_PROGRESS CANCELLED": cancels,
  "FAILED IN_QUEUE": retries,
  "TIMED_OUT IN_QUEUE": retries,
};

/** A result must come from the job's holder, from a run that began after the job was submitted or last retried. */
function wrongResult(track: Track, before: Job, given: string, so: Circumstances): string | undefined {
  const run = so.runIn(given);
  if (run?.job !== track.id) return `has a result that no run of it made: ${given}`;
  if (run.worker !== before.holder) return `took the result of ${run.name}, but ${before.holder} has the job`;
  if (run.attempt !== undefined && run.attempt !== before.attempt)
    return `took the result of ${run.name}, attempt ${run.attempt}, as that of attempt ${before.attempt}`;
  // A worker that does not name attempts cannot distinguish two runs of the same job. It is enough that it holds the job again.
  if (
    run.beganAtMs < track.retriedAtMs &&
    !(run.attempt === undefined && track.taken.has(`${run.worker}/${before.attempt}`))
  )
    return `took the result of ${run.name}, which began before the job was retried`;
  return undefined;
}

/** A job is taken from a worker only because that very worker is silent or not at the job. */
function wrongLoss(before: Job, after: Job, so: Circumstances): string | undefined {
  if (!after.reason?.includes(`worker ${workerOf(before.holder ?? "")} `))
    return `was taken from ${before.holder}, but: ${after.reason}`;
  const isNotAtIt = /is not at it|no longer is/.test(after.reason);
  if (isNotAtIt || so.mayBeLost(before.holder)) return undefined;
  return `was taken from ${before.holder}, which was heard of a short time ago`;
}

function wrongEnd(track: Track, before: Job, after: Job, so: Circumstances): string | undefined {
  if (before.state === after.state) return undefined;
  if (after.endedAt !== so.wall()) return "did not end now";
  const keptMs = (after.expiresAt ?? 0) - after.endedAt;
  const agreed: number[] = [...Object.values(RETENTION_MS), ...track.asked.shortenings];
  if (keptMs !== after.policy.retentionMs) return "is not kept as long as agreed";
  return agreed.includes(keptMs) ? undefined : "is kept for a time that nobody agreed to";
}
