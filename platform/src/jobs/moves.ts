/** The rules of the job engine as pure functions: a job and a time go in, the change to make comes out. */
import { because, type Reason, type ReasonCode } from "../kernel/reason.ts";
import { type Job, type JobMove, jobLifecycle, type LargeOutput, type Payload } from "../ports/queue/job.ts";
import type { Due, JobChange } from "../ports/queue/queue.ts";
import { chargeForResult, chargeForTime, type Tokens } from "./charge.ts";
import { workerOf } from "./holder.ts";
import type { Report } from "./report.ts";

/** A job runs at most this often when its workers die. */
export const ATTEMPTS = 3;

const RUNNING: (keyof JobChange["set"])[] = ["holder", "startedAt", "deadline"];

/** Every end sets these fields. `holder` and `startedAt` stay, because the record shows them. */
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

/** Nearly every job passes here, so the parts that are the same for all of them are made once. */
export function completing(job: Job, result: Payload, now: number, large?: LargeOutput, streamed?: Tokens): JobChange {
  const set: JobChange["set"] = { state: jobLifecycle.to("complete"), endedAt: now };
  if (large) set.large = large;
  return {
    id: job.id,
    when: { states: jobLifecycle.from("complete"), holder: job.holder, attempt: job.attempt },
    set,
    clear: CLEAR_AT_SUCCESS,
    result,
    progress: null,
    also: job.fare ? { ...COMPLETED, charge: chargeForResult(job, result, now, streamed) } : COMPLETED,
  };
}

/** Fails a job. Either the service fails it and gives a reason, or the handler's result says so. */
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

/** An error of the handler is retried until the job's error retries are used up. */
export function retryingError(job: Job, now: number, reason: string): JobChange | undefined {
  if (job.errorsRetried >= job.policy.errorRetries) return undefined;
  return {
    ...returning(job, now, reason),
    set: {
      ...returning(job, now, reason).set,
      errorsRetried: job.errorsRetried + 1,
      spent: job.spent - 1,
      // The worker may report the same error again, since the first answer can be lost. It must not use up another retry.
      barred: job.holder,
    },
  };
}

/** A job whose worker was lost is queued again, until it has used up its attempts. */
export function givingUpHolder(job: Job, now: number, reason: string): JobChange {
  if (job.spent >= ATTEMPTS) {
    return failing(job, undefined, now, { reason: because("attempts-used-up", { attempts: job.spent }, reason) });
  }
  return returning(job, now, reason);
}

/** Does the same for several jobs of one worker, each with its own reason. */
export function givingUp(lost: readonly { job: Job; why: string }[], holder: string, now: number): JobChange[] {
  return lost.map(({ job, why }) => givingUpHolder(job, now, `worker ${workerOf(holder)} ${why}`));
}

function returning(job: Job, now: number, reason: string): JobChange {
  return {
    id: job.id,
    when: when("giveBack", { holder: job.holder, attempt: job.attempt, spent: job.spent }),
    set: { state: jobLifecycle.to("giveBack"), queuedAt: now, retried: job.retried + 1, reason },
    clear: RUNNING,
    progress: null,
    also: { count: { retried: 1 }, dropChunks: true },
  };
}

/** An orderly return (the worker never got the job, or the server shuts down) costs no attempt and does not count as a retry. */
export function handingBack(job: Job): JobChange {
  return {
    id: job.id,
    when: when("giveBack", { holder: job.holder, attempt: job.attempt, spent: job.spent }),
    set: { state: jobLifecycle.to("giveBack"), spent: job.spent - 1 },
    clear: RUNNING,
    progress: null,
    also: { dropChunks: true },
  };
}

/** `streamed` is what its caller could read of the answer. */
export function timingOut(job: Job, now: number, reason: Reason, streamed?: Tokens): JobChange {
  return {
    id: job.id,
    when: { states: [job.state], attempt: job.attempt },
    set: { ...ending("timeOut", now, reason), state: jobLifecycle.move(job.id, job.state, "timeOut") },
    clear: CLEAR_AT_END,
    progress: null,
    also: { ...END, count: { failed: 1 }, ...charged(job, now, streamed) },
  };
}

const charged = (job: Job, now: number, streamed?: Tokens) => {
  const charge = chargeForTime(job, now, streamed);
  return charge ? { charge } : {};
};

/** Ends or gives back a job that exceeded a limit. */
export function settling({ job, why }: Due, now: number, streamed: Tokens | undefined): JobChange {
  switch (why) {
    case "ttl":
      return timingOut(job, now, because("job-expired", { ttlMs: job.policy.ttlMs }), streamed);
    case "execution":
      return timingOut(job, now, because("job-overran", { timeoutMs: job.policy.executionTimeoutMs }), streamed);
    case "holder":
      return givingUpHolder(job, now, `worker ${workerOf(job.holder ?? "")} was lost while processing the job`);
  }
}

/** Who cancels the job. A caller pays for what it had of it, and nothing when the endpoint's own account cancels its job. */
export type CancelledBy = { streamed: Tokens | undefined } | "its endpoint";

export function cancelling(job: Job, now: number, by: CancelledBy = "its endpoint"): JobChange {
  const isPriced = job.fare !== undefined && jobLifecycle.can(job.state, "cancel");
  return {
    id: job.id,
    // What a cancel costs depends on whether the job runs.
    when: isPriced ? { states: [job.state], attempt: job.attempt } : when("cancel"),
    set: ending("cancel", now),
    clear: [...CLEAR_AT_END, "reason"],
    progress: null,
    also: { ...END, ...(by !== "its endpoint" && charged(job, now, by.streamed)) },
  };
}

/** The job keeps its id and input. Its output, error and chunks are removed, and all its limits start again. */
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
      // The previous worker may still run this job. A report about that run must not become the result of the new one.
      barred: job.holder,
    },
    clear: [...RUNNING, "endedAt", "expiresAt", "reason", "reasonCode", "error", "large", "cursor", "deliveries"],
    result: null,
    progress: null,
    also: { count: { retried: 1 }, dropChunks: true },
  };
}

/** A retry restarts the time to live, so a shifted `ttlAt` shows that there was a retry. */
const wasRetried = ({ createdAt, ttlAt, policy }: Job) => ttlAt !== createdAt + policy.ttlMs;

/**
 * Gives a job that nobody holds back to a worker that is obviously running it, for example after a restart that lost the claim. If the
 * worker names its attempt, that must be the last one handed out or the one after it, whose claim was lost. A retried job can only be
 * started by a take: several workers may still run it from before the retry, and most do not say which attempt they run. The same goes for
 * the worker whose error put the job back.
 */
export function claimingBack(job: Job, holder: string, now: number, named?: number): JobChange | undefined {
  if (wasRetried(job) || !jobLifecycle.can(job.state, "claim")) return undefined;
  // A worker that names the next attempt has taken the job since it was barred.
  if (job.barred === holder && named !== job.attempt + 1) return undefined;
  const attempt = named ?? job.attempt + 1;
  if (attempt !== job.attempt && attempt !== job.attempt + 1) return undefined;
  return {
    id: job.id,
    // A job may come back and be claimed again with the same attempt.
    when: { states: jobLifecycle.from("claim"), holder: null, attempt: job.attempt, spent: job.spent },
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

/** A client may shorten how long a result is kept, but never extend it. The job may end meanwhile, so there is one change for each case. */
export function shortening(job: Job, ttlMs: number, now: number): JobChange[] {
  const agreedMs = jobLifecycle.isFinal(job.state) ? (job.expiresAt ?? 0) - now : job.policy.retentionMs;
  if (agreedMs <= ttlMs) return [];
  return [
    { id: job.id, when: { states: LIVE }, set: {}, lower: { retentionMs: ttlMs } },
    { id: job.id, when: { states: ENDED }, set: {}, lower: { expiresAt: now + ttlMs } },
  ];
}

const SHOWN_OF_ERROR = 500;

/** Turns a worker's report into the change of its job. `streamed` are the tokens that its stream reported. */
export function changeReported(job: Job, report: Report, now: number, streamed?: Tokens): JobChange {
  if (report.kind === "progress") return progressing(job, report.output);
  const { error, code, large } = report;
  if (!report.failed) return completing(job, report.result, now, large, streamed);
  const reason = `the handler failed: ${(error ?? "").slice(0, SHOWN_OF_ERROR)}`;
  return retryingError(job, now, reason) ?? failing(job, report.result, now, { error, code, large });
}
