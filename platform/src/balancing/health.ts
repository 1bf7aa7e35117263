/** The rules of health checks: whether a worker's answers allow it to take requests. */

/** Never ready so far, ready, or ready before but not now. */
export type Phase = "starting" | "ready" | "ailing";

export interface Health {
  phase: Phase;
  /** How many checks were made. */
  asked: number;
  /** How many checks failed in a row. */
  failures: number;
  /** When the worker last said that it is ready or still starting. At first, when it was started. */
  heardAt: number;
  /** Why the worker is not ready. */
  reason: string;
  /** The worker itself says that it is still starting. */
  isOnItsWay?: boolean;
}

/** The status of an answer, or why there was none. */
export type Probed = { status: number } | { failure: string };

export const PROBE_TIMEOUT_MS = 3000;
const FAILURES_TO_AIL = 3;
/** A starting worker is asked more often than a ready one, and very often at first, because many are ready at once. */
const INTERVAL_MS: Record<Phase, number> = { starting: 2000, ailing: 2000, ready: 5000 };
const FIRST_INTERVAL_MS = 50;
/** A worker that answers neither 200 nor 204 for this long is given up, because its ports must be wrong. */
export const GIVE_UP_MS = 480_000;

const OK = 200;
const NO_CONTENT = 204;

export const newborn = (now: number, phase: Phase = "starting"): Health => ({
  phase,
  asked: 0,
  failures: 0,
  heardAt: now,
  reason: "it has not been asked for its health yet",
});

export function intervalOf({ phase, asked }: Health): number {
  const usual = INTERVAL_MS[phase];
  return phase === "starting" ? Math.min(usual, FIRST_INTERVAL_MS * 2 ** (asked - 1)) : usual;
}

export const isGivenUp = ({ phase, heardAt }: Health, now: number): boolean =>
  phase !== "ready" && now - heardAt >= GIVE_UP_MS;

/** 200 means ready, 204 means still starting, anything else is a failure. A ready worker ails after three failures in a row. */
export function judge(before: Health, probed: Probed, now: number): Health {
  const health = { ...before, asked: before.asked + 1 };
  if ("status" in probed && probed.status === OK)
    return { ...health, phase: "ready", failures: 0, heardAt: now, reason: "", isOnItsWay: false };
  const reason = "failure" in probed ? probed.failure : `it answered ${probed.status}`;
  if ("status" in probed && probed.status === NO_CONTENT) {
    const phase = health.phase === "ready" ? "ailing" : health.phase;
    return { ...health, phase, failures: 0, heardAt: now, reason: "it is initializing", isOnItsWay: true };
  }
  const failures = health.failures + 1;
  const phase = health.phase === "ready" && failures >= FAILURES_TO_AIL ? "ailing" : health.phase;
  return { ...health, phase, failures, reason, isOnItsWay: false };
}
