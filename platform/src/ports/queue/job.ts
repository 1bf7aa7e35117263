/** The job record and its lifecycle, as they cross the queue port. */
import { lifecycle, type Moved } from "../../kernel/lifecycle.ts";
import type { ReasonCode } from "../../kernel/reason.ts";

export type JobState = "IN_QUEUE" | "IN_PROGRESS" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMED_OUT";

export type JobMove = "claim" | "complete" | "fail" | "giveBack" | "timeOut" | "cancel" | "retry";

export const jobLifecycle = lifecycle<JobState, JobMove>({
  of: "job",
  states: {
    IN_QUEUE: "It waits for a worker.",
    IN_PROGRESS: "A worker is running it.",
    COMPLETED: "Its handler returned a result.",
    FAILED: "Its handler failed, or it lost too many workers.",
    TIMED_OUT: "It had no result before its time limit.",
    CANCELLED: "A caller cancelled it.",
  },
  begins: ["IN_QUEUE"],
  moves: {
    claim: { from: ["IN_QUEUE"], to: "IN_PROGRESS" },
    complete: { from: ["IN_PROGRESS"], to: "COMPLETED" },
    fail: { from: ["IN_PROGRESS"], to: "FAILED" },
    giveBack: { from: ["IN_PROGRESS"], to: "IN_QUEUE" }, // The holder was lost, or an error is retried, and attempts are left.
    timeOut: { from: ["IN_QUEUE", "IN_PROGRESS"], to: "TIMED_OUT" },
    cancel: { from: ["IN_QUEUE", "IN_PROGRESS"], to: "CANCELLED", asked: "serverless:invoke" },
    retry: { from: ["FAILED", "TIMED_OUT"], to: "IN_QUEUE", asked: "serverless:invoke" },
  },
  revivals: ["retry"],
});

/** JSON text. Long texts stay bytes, so that nothing decodes 20 MB only to pass it on. */
export type Payload = string | Uint8Array;

/** The terms under which the job was submitted. All jobs with the same terms share one object. */
export interface JobPolicy {
  /** How long the job may live, from its submission or its last `retry`. */
  ttlMs: number;
  executionTimeoutMs: number;
  /** How long a result is kept after the end. */
  retentionMs: number;
  /** How often a handler's error is retried. */
  errorRetries: number;
  lowPriority: boolean;
}

export interface Job {
  id: string;
  endpoint: string;
  state: Moved<JobState>;
  policy: JobPolicy;
  createdAt: number;
  /** A job that has not ended by this time times out. */
  ttlAt: number;
  /** When it last entered the queue. The delay is counted from here. */
  queuedAt: number;
  /** Claims so far. Every claim begins a new attempt, so a late report of an earlier attempt can be recognised. */
  attempt: number;
  /** Claims that count against the budget. `retry` begins a new budget, and an orderly give-back costs nothing. */
  spent: number;
  /** How many handler errors were retried so far, against `policy.errorRetries`. */
  errorsRetried: number;
  /** Runs after the first, whatever their cause. */
  retried: number;
  /** The worker boot that has the job or, if it ended, had it last. */
  holder?: string;
  /** A worker boot whose late reports no longer count, because its error or `retry` put the job back into the queue. */
  barred?: string;
  startedAt?: number;
  /** When a running job has used up its execution time. */
  deadline?: number;
  endedAt?: number;
  /** When the record of a finished job is removed. */
  expiresAt?: number;
  /** Why the service itself ended the job, or why its last attempt was lost. */
  reason?: string;
  /** The code, for programs, of why the service ended the job or could not take its result. */
  reasonCode?: ReasonCode;
  /** The beginning of the handler's error, since lists are read without results. The result has all of it. */
  error?: string;
  /** Where an output is stored that is too long to pass around. The result then has everything except the output. */
  large?: LargeOutput;
  /** URLs that are told about the end. */
  webhooks?: string[];
  /** How far `/stream` has delivered the chunks. */
  cursor?: { attempt: number; sequence: number };
  /** The attempts to deliver messages about the end, newest last. */
  deliveries?: Delivery[];
  /** The stored body holds a sealed credential, which is opened when a worker gets the job. */
  sealed?: true;
  /** The account that submitted the job. Absent while the endpoint is not shared: then it can only be the endpoint's own. */
  caller?: string;
  /** What the caller of a shared endpoint pays, as it was when the job was submitted. */
  fare?: Fare;
  /** The trace that the job belongs to, as a `traceparent`: its span is that of the request which submitted the job. */
  trace?: string;
}

/** The price of a job on a shared endpoint, in 1e-9 USD. */
export interface Fare {
  /** The name under which the endpoint was called. */
  share: string;
  /** The API key that it is also counted for, if that key has a spend limit. */
  key?: string;
  perRequest: number;
  perSecond: number;
  /** For a million tokens that the worker reports, in and out. */
  perMillionInputTokens: number;
  perMillionOutputTokens: number;
}

/** What an ended job adds to its caller's bill. */
export interface Charge {
  /** The start of the hour in which the job ended. */
  hour: number;
  requests: number;
  executionMs: number;
  inputTokens: number;
  outputTokens: number;
  /** In 1e-9 USD. */
  amount: number;
}

type OptionalField = { [Name in keyof Job]-?: undefined extends Job[Name] ? Name : never }[keyof Job];

/** The optional fields of a job, in one place for all adapters. The compiler reports a missing one. */
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
  trace: true,
  caller: true,
  fare: true,
};

export const OPTIONAL_FIELDS = Object.keys(optionalFields) as OptionalField[];

/** A range of bytes within the output that was staged under a key. */
export interface LargeOutput {
  key: string;
  start: number;
  bytes: number;
}

/** One attempt to tell a target about a job's end. */
export interface Delivery {
  url: string;
  at: number;
  /** The HTTP status of the response; absent when there was none. */
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
  caller?: string;
  fare?: Fare;
  trace?: string;
  /** The request body as it came: an object whose `input` is the job's input. */
  body: Payload;
  /** A key that the caller chose. A second job with the same key returns the first job. */
  idempotency?: { key: string; digest: string };
}

/** Whether the job can still be read. A record whose time is over counts as gone, even before it is removed. */
export function isKept({ expiresAt }: Pick<Job, "expiresAt">, now: number): boolean {
  return expiresAt === undefined || expiresAt > now;
}

/** Whether a job still needs work. Only these jobs are in memory. */
export function isLive({ state }: Pick<Job, "state">): boolean {
  return !jobLifecycle.isFinal(state);
}
