/** What the author of a worker writes, and what the library hands to it. */

/** A job as its client submitted it, with the id that the server gave it. */
export interface Job<Input = Record<string, unknown>> {
  id: string;
  input: Input;
  /** Counts the tries to run this job, from 1. */
  attempt: number;
  /** Whatever else stood in the request beside `input`. */
  [key: string]: unknown;
}

/** One try to run a job. */
export interface Run {
  /** Aborts when the job was cancelled, has timed out or went to another worker: nobody wants its result any more. */
  readonly signal: AbortSignal;
  /** Shows a value as the job's `output` while it runs; a newer one replaces it. */
  progress(value: unknown): void;
}

/**
 * The value that it returns, or resolves with, is the job's output. What it throws is the job's error. A generator streams:
 * each value that it yields is a chunk.
 *
 * In an object that it returns, `error` (if it is not empty) fails the job, and `refresh_worker: true` asks for a fresh worker
 * process after this job; neither is part of the output.
 */
export type Handler<Input = Record<string, unknown>> = (job: Job<Input>, run: Run) => unknown;
