/** The crash-loop brake: workers that fail at their start are restarted more and more slowly, until one proves healthy. */
import type { Reason, ReasonCode } from "../../../kernel/reason.ts";
import type { EndpointType } from "../../endpoints/model.ts";

export interface Failure {
  at: number;
  reason: Reason;
}

export interface Brake {
  /** Nothing is started before this time. */
  until: number;
  failures: number;
  /** The reason of the newest failure. */
  reason: Reason;
}

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 60_000;

/** More failures than this change nothing, because the delay is at its maximum. */
export const FAILURES_THAT_COUNT = 8;

/** A failure older than this is forgotten. */
export const FORGIVEN_AFTER_MS = 600_000;

/**
 * A worker that was healthy for this long has proven that its release works. A load-balanced worker needs longer, because it takes three
 * failed checks, up to 24 s, to notice that it is not healthy any more.
 */
const HEALTHY_AFTER_MS: Record<EndpointType, number> = { QUEUE: 10_000, LOAD_BALANCER: 30_000 };

export const isProven = (type: EndpointType, wellMs: number): boolean => wellMs >= HEALTHY_AFTER_MS[type];

/** A full disk says nothing about the program, so it does not lengthen the delay. */
const OF_THE_DISK: readonly ReasonCode[] = ["disk-full", "filled-disk"];

/** The delay after the last failure is 1, 2, 4 … 60 s. That allows at most 7 starts in the first minute and then one per minute. */
export function brakeOf(failures: readonly Failure[]): Brake | undefined {
  if (failures.length === 0) return undefined;
  const newest = failures.reduce((last, next) => (next.at >= last.at ? next : last));
  const own = failures.filter(({ reason }) => !OF_THE_DISK.includes(reason.code)).length;
  const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, own - 1));
  return { until: newest.at + delayMs, failures: failures.length, reason: newest.reason };
}
