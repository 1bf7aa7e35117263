/** What an error during a start means for the instance. */
import { isProblem } from "../kernel/problem.ts";
import { type Reason, startReason } from "../kernel/reason.ts";
import { tellable } from "../kernel/tellable.ts";
import { isFull } from "../ports/disk.ts";

/** The database did not answer. That says nothing about the instance, so the next tick tries again. */
export const isAway = (error: unknown) => isProblem(error, "unavailable");

/** Returns the reason of a failed start: what the driver says, or an unexpected error. */
export function failedStart(error: unknown): Reason {
  const { reason } = (error ?? {}) as { reason?: unknown };
  return startReason(isFull(error ?? {}) ? "disk-full" : reason, tellable(error));
}
