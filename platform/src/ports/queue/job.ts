/** The job record and its lifecycle: what crosses the queue port. */
import { lifecycle, type Moved } from "../../kernel/lifecycle.ts";
import type { ReasonCode } from "../../kernel/reason.ts";

export type JobState = "IN_QUEUE" | "IN_PROGRESS" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMED_OUT";

export type JobMove = "claim" | "complete" | "fail" | "giveBack" | "timeOut" | "cancel" | "retry";

export const jobLifecycle = lifecycle<JobState, JobMove>({
  of: "job",
  states: {
    IN_QUEUE: "It waits for a worker.",
    IN_PROGRESS: "A worker is at it.",
    COMPLETED: "Its handler returned a result.",
    FAILED: "Its handler failed, or it cost too many workers.",
    TIMED_OUT: "Its time was over before it had a result.",
    CANCELLED: "A caller cancelled it.",
  },
  begins: ["IN_QUEUE"],
  moves: {
    claim: { from: ["IN_QUEUE"], to: "IN_PROGRESS" },
    complete: { from: ["IN_PROGRESS"], to: "COMPLETED" },
    fail: { from: ["IN_PROGRESS"], to: "FAILED" },
    giveBack: { from: ["IN_PROGRESS"], to: "IN_QUEUE" }, // holder lost or an error to be retried, with attempts left
    timeOut: { from: ["IN_QUEUE", "IN_PROGRESS"], to: "TIMED_OUT" },
    cancel: { from: ["IN_QUEUE", "IN_PROGRESS"], to: "CANCELLED", asked: "serverless:invoke" },
    retry: { from: ["FAILED", "TIMED_OUT"], to: "IN_QUEUE", asked: "serverless:invoke" },
  },
  revivals: ["retry"],
});

/** JSON text. Long texts stay bytes, so that nothing decodes 20 MB just to pass it on. */
export type Payload = string | Uint8Array;

/** What was agreed when the job was submitted. Shared by every job with the same terms. */
export interface JobPolicy {
  /** Life from submission, or from the last `retry`. */
  ttlMs: number;
  executionTimeoutMs: number;
  /** How long a result is kept after the end. */
  retentionMs: number;
  /** How often a handler's error is tried again. */
  errorRetries: number;
  lowPriority: boolean;
}

export interface Job {
  id: string;
  endpoint: string;
  state: Moved<JobState>;
  policy: JobPolicy;
  createdAt: number;
  /** When its whole life is over: a job that has not ended by then times out. */
  ttlAt: number;
  /** When it last entered the queue; the delay is counted from here. */
  queuedAt: number;
  /** Claims so far. Every claim begins a new attempt, so a late report of an earlier one can be told apart. */
  attempt: number;
  /** Claims that count against the budget: a fresh budget begins with `retry`, and an orderly give-back costs nothing. */
  spent: number;
  /** Handler errors tried again so far, against `policy.errorRetries`. */
  errorsRetried: number;
  /** Runs beyond the first, whatever their cause. */
  retried: number;
  /** The worker boot that has the job, or had it last when it ended. */
  holder?: string;
  /** A worker boot whose late reports no longer count, because the job was sent round again by `retry`. */
  barred?: string;
  startedAt?: number;
  /** When a running job has had its execution time. */
  deadline?: number;
  endedAt?: number;
  /** When a finished job's record goes. */
  expiresAt?: number;
  /** Why the service itself ended the job, or why its last attempt was lost. */
  reason?: string;
  /** Why the service itself ended the job, or could not take its result, for programs. */
  reasonCode?: ReasonCode;
  /** How the handler's error begins, which its result has in full: lists are read without results. */
  error?: string;
  /** Where the output of an ended job is that is too long to be passed around: then the result has all but the output. */
  large?: LargeOutput;
  /** Targets to be told of the end. */
  webhooks?: string[];
  /** How far `/stream` has given its chunks out. */
  cursor?: { attempt: number; sequence: number };
  /** What became of the messages about the end, newest last. */
  deliveries?: Delivery[];
  /** The stored body holds a sealed credential, which is opened when the job is handed out. */
  sealed?: true;
}

type OptionalField = { [Name in keyof Job]-?: undefined extends Job[Name] ? Name : never }[keyof Job];

/** Fields that a job may lack, once for every adapter; the compiler says when one is missing here. */
const optionalFields: Record<OptionalField, true> = {
  holder: true,
  barred: true,
  startedAt: true,
  deadline: true,
  endedAt: true,
  expiresAt: true,
  reason: true,
  reasonCode: true,
  error: true,
  large: true,
  webhooks: true,
  sealed: true,
  cursor: true,
  deliveries: true,
};

export const OPTIONAL_FIELDS = Object.keys(optionalFields) as OptionalField[];

/** A stretch of what was staged under a key. */
export interface LargeOutput {
  key: string;
  start: number;
  bytes: number;
}

/** One attempt to tell a target of a job's end. */
export interface Delivery {
  url: string;
  at: number;
  /** HTTP status of the answer; absent when there was none. */
  status?: number;
  error?: string;
}

export interface NewJob {
  id: string;
  endpoint: string;
  policy: JobPolicy;
  createdAt: number;
  webhooks?: string[];
  sealed?: true;
  /** The request body as it came: an object whose `input` is the job's input. */
  body: Payload;
  /** A key of the caller's choice: a second job with the same key is the first one again. */
  idempotency?: { key: string; digest: string };
}

/** Whether there is still something to read of it: a record is gone when its time is over, removed or not. */
export function isKept({ expiresAt }: Pick<Job, "expiresAt">, now: number): boolean {
  return expiresAt === undefined || expiresAt > now;
}

/** Jobs that still need something done; only these are held in memory. */
export function isLive({ state }: Pick<Job, "state">): boolean {
  return !jobLifecycle.isFinal(state);
}
