/** The target of a forwarded request, and its limits: a worker of an endpoint, or a port of a Pod. */
import type { Duplex } from "node:stream";
import { MIB } from "../../kernel/operation.ts";
import { type Problem, problem } from "../../kernel/problem.ts";

export interface Limits {
  /** The longest body of a request or an answer. */
  bodyBytes: number;
  /** Counted from when the receiver has the request. */
  ms: number;
  /** What must have happened by then: the beginning or the end of the answer. */
  until: "begin" | "end";
}

/** Connections are kept per object of this type. */
export interface Reached {
  /** Opens a new connection. */
  dial(): Promise<Duplex>;
}

export interface Receiver {
  /** Its name in refusals. */
  called: string;
  backend: Reached;
  /** Aborts when the receiver is gone. The reason says why. */
  gone: AbortSignal;
  /** Called when the receiver did not accept a connection. */
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
