/** The crash-loop brake of Pods: a program that fails is restarted more and more slowly, and not forever. */
import type { Crashes } from "../model.ts";

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 60_000;
/** The number of restarts after failures, before somebody has to look at it. */
export const MOST_RESTARTS = 6;
/** The end of a program that ran for this long says nothing about the next start. */
const WELL_AFTER_MS = 60_000;

/**
 * The delay is 1, 2, 4 … 60 s. Undefined if the Pod is not started again. A member of a cluster always is, because nobody could start it
 * alone.
 */
export function afterCrash(
  before: Crashes | null,
  { now, ranMs, isMember }: { now: number; ranMs: number; isMember: boolean },
): Crashes | undefined {
  const count = ranMs >= WELL_AFTER_MS ? 1 : Math.min(MOST_RESTARTS, before?.count ?? 0) + 1;
  if (count > MOST_RESTARTS && !isMember) return undefined;
  const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - 1));
  return { count, startsAgainAt: now + delayMs };
}
