/** What a request is passed on to, and within which bounds: a worker of an endpoint, or a port of a Pod. */
import type { Duplex } from "node:stream";
import { MIB } from "../../kernel/operation.ts";
import { type Problem, problem } from "../../kernel/problem.ts";

export interface Limits {
  /** Of a request and of an answer. */
  bodyBytes: number;
  /** From the time at which it has the request. */
  ms: number;
  /** What must have happened by then. */
  until: "begin" | "end";
}

/** Connections are kept for each of these, for as long as it is the same object. */
export interface Reached {
  /** A new connection to it. */
  dial(): Promise<Duplex>;
}

export interface Receiver {
  /** What refusals call it. */
  called: string;
  backend: Reached;
  /** Aborts when it is gone; its reason says why. */
  gone: AbortSignal;
  /** Told when it did not even accept a connection, and why. */
  refused?(why: string): void;
  limits: Limits;
}

export const tooMuch = ({ called, limits }: Receiver): Problem =>
  problem("no-answer", `the answer of ${called} is larger than the limit of ${limits.bodyBytes / MIB} MB`);

export const odd = ({ called }: Receiver, what: string, cause?: unknown): Problem =>
  problem("no-answer", `the answer of ${called} is not HTTP: ${what}`, { cause });

export const tooSlow = ({ called, limits: { ms, until } }: Receiver): Problem => {
  const time = ms > 2 * MINUTE_MS ? `${ms / MINUTE_MS} minutes` : `${ms / 1000} s`;
  const what = until === "end" ? "finish the request" : "begin to answer";
  return problem("late-answer", `${called} did not ${what} within ${time}`);
};

const MINUTE_MS = 60_000;
