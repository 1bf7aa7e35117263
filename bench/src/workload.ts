/** The work for every stack: the same job of about 200 bytes, from the same generator. */

const TEXT_LENGTH = 170;

/** The body of every submission, and of every request to echo. */
export const BODY = JSON.stringify({ input: { prompt: "x".repeat(TEXT_LENGTH) } });

/** Where the generator sends requests. */
export interface Target {
  port: number;
  path: string;
  headers: Record<string, string>;
  /** The text that each answer must contain to count as a success. */
  expects?: string;
}

export interface LoadSettings {
  target: Target;
  connections: number;
  warmupMs: number;
  measureMs: number;
  /** Stops after this many requests, whatever the time. */
  most?: number;
  /** Requests per second, each sent when it is due. Without this, each connection sends again as soon as it has its answer. */
  rate?: number;
}

export interface LoadReport {
  /** Successes in the measured time, and the length of that time. */
  count: number;
  seconds: number;
  /** All successes, including the warm-up. */
  accepted: number;
  /** Failed answers: another status, or without the expected text. */
  refused: number;
  /** The first failed answer, to see why. */
  example?: string;
  latencyMs: { p50: number; p95: number; p99: number; p999: number; max: number };
}
