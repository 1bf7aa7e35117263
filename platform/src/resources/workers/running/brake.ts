/** The crash-loop brake: workers that fail at their start are started again ever more slowly, until one of them proves healthy. */
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
  /** That of the newest failure. */
  reason: Reason;
}

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 60_000;

/** More failures than these change nothing: the delay is at its longest. */
export const FAILURES_THAT_COUNT = 8;

/** An endpoint that nobody has asked anything of for so long begins anew. */
export const FORGIVEN_AFTER_MS = 600_000;

/**
 * A worker that has been well for this long has proven that the release works. Of a load-balanced one it takes three failed checks,
 * up to 24 s, to learn that it is not well any more.
 */
const HEALTHY_AFTER_MS: Record<EndpointType, number> = { QUEUE: 10_000, LOAD_BALANCER: 30_000 };

export const isProven = (type: EndpointType, wellMs: number): boolean => wellMs >= HEALTHY_AFTER_MS[type];

/** A full disk says nothing about the program: it is tried again as soon as there may be room. */
const OF_THE_DISK: readonly ReasonCode[] = ["disk-full", "filled-disk"];

/** 1, 2, 4 … 60 s after the last failure: at most 7 starts in the first minute and one in each that follows. */
export function brakeOf(failures: readonly Failure[]): Brake | undefined {
  if (failures.length === 0) return undefined;
  const newest = failures.reduce((last, next) => (next.at >= last.at ? next : last));
  const own = failures.filter(({ reason }) => !OF_THE_DISK.includes(reason.code)).length;
  const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.max(0, own - 1));
  return { until: newest.at + delayMs, failures: failures.length, reason: newest.reason };
}
