/** The types of a worker's handler, and of what the library passes to it. */

/** A job as its client submitted it, with the id from the server. */
export interface Job<Input = Record<string, unknown>> {
  id: string;
  input: Input;
  /** The number of this attempt, from 1. */
  attempt: number;
  /** The trace that this run belongs to, as W3C's `traceparent`, if its request is traced. */
  traceparent?: string;
  /** All other keys of the request. */
  [key: string]: unknown;
}

/** One attempt to run a job. */
export interface Run {
  /** Aborts when the job was cancelled, timed out or went to another worker. Then nobody wants its result. */
  readonly signal: AbortSignal;
  /** Shows a value as the job's `output` while it runs. A newer value replaces it. */
  progress(value: unknown): void;
}

/**
 * The returned or resolved value is the job's output. A thrown value is the job's error. A generator streams: each yielded value is a
 * chunk.
 *
 * In a returned object, a non-empty `error` fails the job, and `refresh_worker: true` asks for a new worker process after this job. Neither
 * is part of the output.
 */
export type Handler<Input = Record<string, unknown>> = (job: Job<Input>, run: Run) => unknown;
