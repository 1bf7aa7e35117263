/** The context of a trace as programs pass it on to each other: the `traceparent` of W3C Trace Context. */
import { createHash } from "node:crypto";

export interface TraceContext {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits: the span that comes before. */
  spanId: string;
  /** Whether whoever began the trace records it. */
  isSampled: boolean;
}

const FORM = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** A later version may add more, but nobody may fill a job's record with it. */
const LONGEST = 128;
const SAMPLED = 1;

/** Undefined for anything that is not valid. Such a header counts as absent, as the specification asks. */
export function readTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== "string" || text.length > LONGEST) return undefined;
  const [, version, traceId, spanId, flags, more] = FORM.exec(text) ?? [];
  if (traceId === undefined || (version === "00" && more !== undefined)) return undefined;
  return { traceId, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & SAMPLED) === SAMPLED };
}

/** The header as it came if it is valid. Most requests have none. */
export const validTraceparent = (text: unknown): string | undefined =>
  text !== undefined && readTraceparent(text) ? (text as string) : undefined;

export const traceparentText = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;

/**
 * The span in which a worker runs an attempt. It is the same wherever it is computed, so that the node that hands the job out and the node
 * that hears of its end need not tell each other.
 */
export const runSpanId = (job: string, attempt: number): string =>
  createHash("sha256").update(`${job} ${attempt}`).digest("hex").slice(0, 16);

/** What a worker gets for an attempt of a job that was submitted with this context. */
export function handedTraceparent(trace: string, job: string, attempt: number): string {
  const context = readTraceparent(trace);
  if (!context?.isSampled) return trace;
  return traceparentText({ ...context, spanId: runSpanId(job, attempt) });
}
