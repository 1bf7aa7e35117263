/** How far this machine's clock is from that of the database, which all nodes share. */
import type { Clock } from "./clock.ts";

/** Time limits of jobs go by the clocks of nodes. With a larger difference, jobs visibly end early or late. */
const MOST_APART_MS = 1000;
/** A difference must become this small before it counts as well again. Otherwise one close to the limit would be reported again and again. */
const WELL_AGAIN_MS = MOST_APART_MS / 2;
const ASKED_TIMES = 3;

export interface ClockDifference {
  /** How far this machine's clock is ahead. Negative if it is behind. */
  aheadMs: number;
  /** `aheadMs` is wrong by at most this. */
  errorMs: number;
}

/**
 * Asks for the other clock's time a few times in a row, and keeps the answer that came soonest. The other clock was read at an unknown
 * moment of each round trip, so a shorter trip leaves a smaller error.
 */
export async function clockDifference(clock: Clock, ask: () => Promise<number>): Promise<ClockDifference> {
  let best: ClockDifference | undefined;
  for (let times = 0; times < ASKED_TIMES; times++) {
    const [askedAt, begunAt] = [clock.now(), clock.monotonic()];
    const theirs = await ask();
    const errorMs = (clock.monotonic() - begunAt) / 2;
    if (!best || errorMs < best.errorMs) best = { aheadMs: askedAt + errorMs - theirs, errorMs };
  }
  return best!;
}

/** Whether the clocks certainly differ by more than they may, however long the answer took. */
export const areApart = ({ aheadMs, errorMs }: ClockDifference): boolean => Math.abs(aheadMs) - errorMs > MOST_APART_MS;

/** Whether the clocks certainly agree again after they were apart. */
export const areTogether = ({ aheadMs, errorMs }: ClockDifference): boolean =>
  Math.abs(aheadMs) + errorMs < WELL_AGAIN_MS;

/** Such as `2.5 s ahead of`, to be followed by the other clock. */
export function differenceText({ aheadMs }: Pick<ClockDifference, "aheadMs">): string {
  const ms = Math.round(Math.abs(aheadMs));
  return `${ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`} ${aheadMs < 0 ? "behind" : "ahead of"}`;
}
