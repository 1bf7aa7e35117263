/** Returns the reason of a failed start: what the driver says, or an unexpected error. */
import { type Reason, startReason } from "../kernel/reason.ts";
import { tellable } from "../kernel/tellable.ts";
import { isFull } from "../ports/disk.ts";

export function failedStart(error: unknown): Reason {
  const { reason } = (error ?? {}) as { reason?: unknown };
  return startReason(isFull(error ?? {}) ? "disk-full" : reason, tellable(error));
}
