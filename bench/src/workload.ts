/** What every stack is asked to do: the same job, of about 200 bytes, from the same generator. */

const TEXT_LENGTH = 170;

/** The body of every submission, and of every request to echo. */
export const BODY = JSON.stringify({ input: { prompt: "x".repeat(TEXT_LENGTH) } });

/** Where the generator sends requests. */
export interface Target {
  port: number;
  path: string;
  headers: Record<string, string>;
  /** Text that each answer must hold to count as a success. */
  expects?: string;
}

export interface LoadSettings {
  target: Target;
  connections: number;
  warmupMs: number;
  measureMs: number;
  /** Stop after this many requests, whatever the time. */
  most?: number;
  /** Requests a second, sent when they are due; without it each connection sends as soon as it has its answer. */
  rate?: number;
}

export interface LoadReport {
  /** Successes in the measured time, and that time. */
  count: number;
  seconds: number;
  /** Successes in all, warm-up included. */
  accepted: number;
  /** Answers that were none: another status, or without the expected text. */
  refused: number;
  /** The first of them, to see why. */
  example?: string;
  latencyMs: { p50: number; p95: number; p99: number; p999: number; max: number };
}
