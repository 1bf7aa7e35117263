/** The crash-loop brake of Pods: one whose program fails is started again ever more slowly, and not for ever. */
import type { Crashes } from "../model.ts";

const FIRST_DELAY_MS = 1000;
const LONGEST_DELAY_MS = 60_000;
/** Starts after a failure, before somebody has to look at it. */
export const MOST_RESTARTS = 6;
/** A program that ran for this long says nothing about the next start by its end. */
const WELL_AFTER_MS = 60_000;

/** 1, 2, 4 … 60 s; undefined when it is not started again. A member of a cluster always is: nobody could start it alone. */
export function afterCrash(
  before: Crashes | null,
  { now, ranMs, isMember }: { now: number; ranMs: number; isMember: boolean },
): Crashes | undefined {
  const count = ranMs >= WELL_AFTER_MS ? 1 : Math.min(MOST_RESTARTS, before?.count ?? 0) + 1;
  if (count > MOST_RESTARTS && !isMember) return undefined;
  const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - 1));
  return { count, startsAgainAt: now + delayMs };
}
