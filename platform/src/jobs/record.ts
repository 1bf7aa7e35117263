/** Builds a job's record for clients. It splices the service's fields into the stored result, which is neither parsed nor rewritten. */

import { timestamp } from "../kernel/clock.ts";
import { meaningOf, type Reason } from "../kernel/reason.ts";
import { type Delivery, type Job, jobLifecycle, type Payload } from "../ports/queue/job.ts";
import { workerOf } from "./holder.ts";
import type { OutputLink } from "./outputs.ts";

export interface Shown {
  job: Job;
  result?: Payload;
  progress?: string;
  waitReason?: Reason;
  /** Replaces an output that is too long for the record. */
  link?: OutputLink;
}

/** Our keys come last, because parsers use the last one if a worker's result has the same key. */
export function jobRecord(shown: Shown): string | Uint8Array {
  const own = ownKeys(shown);
  if (jobLifecycle.isFinal(shown.job.state) && shown.result !== undefined) return splice(shown.result, own);
  if (shown.progress !== undefined) return `{"output":${shown.progress},${own}`;
  return `{${own}`;
}

/** Returns the record in pieces. A long stored result is one of them and is not copied. */
export function recordPieces(shown: Shown): Uint8Array[] {
  const { job, result } = shown;
  const isLong = result instanceof Uint8Array && jobLifecycle.isFinal(job.state);
  return isLong ? spliced(result, ownKeys(shown)) : [Buffer.from(jobRecord(shown))];
}

const ownKeys = (shown: Shown) => JSON.stringify(ownFields(shown)).slice(1);

function ownFields({ job, result, waitReason, link }: Shown): Record<string, unknown> {
  const { startedAt, queuedAt, endedAt, state, reasonCode, error = endOf(job), retried, holder, id } = job;
  const isFinal = jobLifecycle.isFinal(state);
  const own: Record<string, unknown> = {};
  if (startedAt !== undefined) {
    own.delayTime = Math.max(0, startedAt - queuedAt);
    if (isFinal) own.executionTime = Math.max(0, (endedAt ?? startedAt) - startedAt);
  }
  // The handler's own error is in its result. Our error is for jobs that the service itself ended, and for lists.
  if (isFinal && error !== undefined && result === undefined) own.error = error;
  if (reasonCode !== undefined) own.errorCode = reasonCode;
  if (link !== undefined) own.output = link;
  own.id = id;
  if (retried > 0) own.retries = retried;
  own.status = state;
  if (waitReason !== undefined) Object.assign(own, shownWait(waitReason));
  if (job.deliveries !== undefined) own.webhookDeliveries = job.deliveries.map(shownDelivery);
  if (startedAt !== undefined && holder !== undefined && !isGuests(job)) own.workerId = workerOf(holder);
  return own;
}

/** A job of a guest pays a fare. Its record says nothing about the workers of the endpoint's account. */
export const isGuests = ({ fare }: Job) => fare !== undefined;

/** Why the service ended the job. The reason's own words may name a worker, so guests get the meaning of its code instead. */
export function endOf(job: Job): string | undefined {
  const { reason, reasonCode } = job;
  if (!isGuests(job) || reason === undefined) return reason;
  return reasonCode === undefined ? "an attempt was lost" : meaningOf(reasonCode);
}

/** The reason as a guest may see it. */
export const forGuests = ({ code }: Reason): Reason => ({ code, text: meaningOf(code) });

/** Shows why the job waits, as text for people and as a code for programs. */
export const shownWait = ({ text, code }: Reason) => ({ waitReason: text, waitReasonCode: code });

const shownDelivery = ({ at, ...delivery }: Delivery) => ({ ...delivery, at: timestamp(at) });

const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const WHITE_SPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Adds `rest` (`"key":…}`) to a JSON object given as text or bytes. */
export function splice(object: Payload, rest: string): string | Uint8Array {
  return typeof object === "string" ? spliceText(object, rest) : Buffer.concat(spliced(object, rest));
}

export function spliceText(object: string, rest: string): string {
  const open = object.slice(0, object.lastIndexOf("}")).trimEnd();
  return `${open}${open.endsWith("{") ? "" : ","}${rest}`;
}

/** Does the same in two pieces, without copying the long one. */
export function spliced(object: Uint8Array, rest: string): Uint8Array[] {
  let end = object.lastIndexOf(CLOSING_BRACE);
  while (WHITE_SPACE.has(object[end - 1]!)) end--;
  const isEmpty = object[end - 1] === OPENING_BRACE;
  return [object.subarray(0, end), Buffer.from(`${isEmpty ? "" : ","}${rest}`)];
}
