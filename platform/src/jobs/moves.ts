/** The engine's rules as pure functions: from a job and a time to the change that a move makes. */
import { because, type Reason, type ReasonCode } from "../kernel/reason.ts";
import { type Job, type JobMove, jobLifecycle, type LargeOutput, type Payload } from "../ports/queue/job.ts";
import type { JobChange } from "../ports/queue/queue.ts";
import { workerOf } from "./holder.ts";
import type { Report } from "./report.ts";

/** Runs in all, when workers die under a job. */
export const ATTEMPTS = 3;

const RUNNING: (keyof JobChange["set"])[] = ["holder", "startedAt", "deadline"];

/** Fields that every end sets. What is kept of the run (holder, startedAt) is what the record shows of it. */
function ending(move: "complete" | "fail" | "timeOut" | "cancel", now: number, why?: Reason): JobChange["set"] {
  const state = jobLifecycle.to(move);
  return { state, endedAt: now, ...(why === undefined ? {} : { reason: why.text, reasonCode: why.code }) };
}

function when(move: JobMove, fence: Omit<JobChange["when"], "states"> = {}): JobChange["when"] {
  return { states: jobLifecycle.from(move), ...fence };
}

const LISTED_OF_ERROR = 1000;

/** A character is never cut in two. */
const beginningOf = (error: string) => error.slice(0, LISTED_OF_ERROR).replace(/[\ud800-\udbff]$/, "");

const CLEAR_AT_END: (keyof JobChange["set"])[] = ["deadline"];
const END = { webhook: true, expiry: true };

const CLEAR_AT_SUCCESS: (keyof JobChange["set"])[] = [...CLEAR_AT_END, "reason"];
const COMPLETED = { ...END, count: { completed: 1 } };

/** On the way of nearly every job: what is the same for all of them is made once. */
export function completing(job: Job, result: Payload, now: number, large?: LargeOutput): JobChange {
  const set: JobChange["set"] = { state: jobLifecycle.to("complete"), endedAt: now };
  if (large) set.large = large;
  return {
    id: job.id,
    when: { states: jobLifecycle.from("complete"), holder: job.holder, attempt: job.attempt },
    set,
    clear: CLEAR_AT_SUCCESS,
    result,
    progress: null,
    also: COMPLETED,
  };
}

/** By the service, which says why, or by the handler, whose result says so. */
export function failing(
  job: Job,
  result: Payload | undefined,
  now: number,
  { reason, error, code, large }: { reason?: Reason; error?: string; code?: ReasonCode; large?: LargeOutput },
): JobChange {
  return {
    id: job.id,
    when: when("fail", { holder: job.holder, attempt: job.attempt }),
    set: {
      ...ending("fail", now, reason),
      ...(error === undefined ? {} : { error: beginningOf(error) }),
      ...(code === undefined ? {} : { reasonCode: code }),
      ...(large ? { large } : {}),
    },
    clear: reason === undefined ? [...CLEAR_AT_END, "reason"] : CLEAR_AT_END,
    ...(result === undefined ? {} : { result }),
    progress: null,
    also: { ...END, count: { failed: 1 } },
  };
}

/** A handler's error is tried again while its own budget lasts. */
export function retryingError(job: Job, now: number, reason: string): JobChange | undefined {
  if (job.errorsRetried >= job.policy.errorRetries) return undefined;
  return {
    ...returning(job, now, reason),
    set: { ...returning(job, now, reason).set, errorsRetried: job.errorsRetried + 1, spent: job.spent - 1 },
  };
}

/** A job whose worker is lost goes round again, until it has cost too many workers. */
export function givingUpHolder(job: Job, now: number, reason: string): JobChange {
  if (job.spent >= ATTEMPTS) {
    return failing(job, undefined, now, { reason: because("attempts-used-up", { attempts: job.spent }, reason) });
  }
  return returning(job, now, reason);
}

/** The same for many jobs of one holder, each with what it did. */
export function givingUp(lost: readonly { job: Job; why: string }[], holder: string, now: number): JobChange[] {
  return lost.map(({ job, why }) => givingUpHolder(job, now, `worker ${workerOf(holder)} ${why}`));
}

function returning(job: Job, now: number, reason: string): JobChange {
  return {
    id: job.id,
    when: when("giveBack", { holder: job.holder, attempt: job.attempt }),
    set: { state: jobLifecycle.to("giveBack"), queuedAt: now, retried: job.retried + 1, reason },
    clear: RUNNING,
    progress: null,
    also: { count: { retried: 1 }, dropChunks: true },
  };
}

/** An orderly return (a worker that never got the job, a server that shuts down) costs no attempt and counts as no retry. */
export function handingBack(job: Job): JobChange {
  return {
    id: job.id,
    when: when("giveBack", { holder: job.holder, attempt: job.attempt }),
    set: { state: jobLifecycle.to("giveBack"), spent: job.spent - 1 },
    clear: RUNNING,
    progress: null,
    also: { dropChunks: true },
  };
}

export function timingOut(job: Job, now: number, reason: Reason): JobChange {
  return {
    id: job.id,
    when: { states: [job.state], attempt: job.attempt },
    set: { ...ending("timeOut", now, reason), state: jobLifecycle.move(job.id, job.state, "timeOut") },
    clear: CLEAR_AT_END,
    progress: null,
    also: { ...END, count: { failed: 1 } },
  };
}

export function cancelling(job: Job, now: number): JobChange {
  return {
    id: job.id,
    when: when("cancel"),
    set: ending("cancel", now),
    clear: [...CLEAR_AT_END, "reason"],
    progress: null,
    also: END,
  };
}

/** Same id, same input; old output, error and chunks are gone, and every budget begins anew. */
export function retrying(job: Job, now: number): JobChange {
  return {
    id: job.id,
    when: when("retry", { attempt: job.attempt }),
    set: {
      state: jobLifecycle.to("retry"),
      queuedAt: now,
      ttlAt: now + job.policy.ttlMs,
      spent: 0,
      errorsRetried: 0,
      retried: job.retried + 1,
      // The worker that had it before may still be at it: a report of that run must not become the result of this one.
      barred: job.holder,
    },
    clear: [...RUNNING, "endedAt", "expiresAt", "reason", "reasonCode", "error", "large", "cursor", "deliveries"],
    result: null,
    progress: null,
    also: { count: { retried: 1 }, dropChunks: true },
  };
}

/** Every retry counts the time to live anew, which tells that there was one. */
const wasRetried = ({ createdAt, ttlAt, policy }: Job) => ttlAt !== createdAt + policy.ttlMs;

/**
 * A worker that is plainly busy with a job nobody holds has its claim back, as after a restart that lost it. One that says
 * which attempt it is at must mean the last one given out, or the one right after it, whose claim was lost. A job that was
 * retried is begun by a take alone: any number of workers may still be at runs from before that, and most do not say so.
 */
export function claimingBack(job: Job, holder: string, now: number, attempt = job.attempt + 1): JobChange | undefined {
  if (job.barred === holder || wasRetried(job) || !jobLifecycle.can(job.state, "claim")) return undefined;
  if (attempt !== job.attempt && attempt !== job.attempt + 1) return undefined;
  return {
    id: job.id,
    when: { states: jobLifecycle.from("claim"), holder: null, attempt: job.attempt },
    set: {
      state: jobLifecycle.to("claim"),
      holder,
      attempt,
      spent: job.spent + 1,
      startedAt: now,
      deadline: now + job.policy.executionTimeoutMs,
    },
    clear: ["barred"],
  };
}

function progressing(job: Job, output: string): JobChange {
  return {
    id: job.id,
    when: { states: ["IN_PROGRESS"], holder: job.holder, attempt: job.attempt },
    set: {},
    progress: output,
  };
}

const LIVE = jobLifecycle.states.filter((state) => !jobLifecycle.isFinal(state));
const ENDED = jobLifecycle.states.filter((state) => jobLifecycle.isFinal(state));

/** A result may be let go earlier than agreed, never later, however many clients ask. The job may end meanwhile: one change is for each. */
export function shortening(job: Job, ttlMs: number, now: number): JobChange[] {
  const agreedMs = jobLifecycle.isFinal(job.state) ? (job.expiresAt ?? 0) - now : job.policy.retentionMs;
  if (agreedMs <= ttlMs) return [];
  return [
    { id: job.id, when: { states: LIVE }, set: {}, lower: { retentionMs: ttlMs } },
    { id: job.id, when: { states: ENDED }, set: {}, lower: { expiresAt: now + ttlMs } },
  ];
}

const SHOWN_OF_ERROR = 500;

/** What a worker's report makes of its job. */
export function changeReported(job: Job, report: Report, now: number): JobChange {
  if (report.kind === "progress") return progressing(job, report.output);
  const { error, code, large } = report;
  if (!report.failed) return completing(job, report.result, now, large);
  const reason = `the handler failed: ${(error ?? "").slice(0, SHOWN_OF_ERROR)}`;
  return retryingError(job, now, reason) ?? failing(job, report.result, now, { error, code, large });
}
