/** The reason of a start that failed: what the driver says, or an error that nobody foresaw. */
import { type Reason, startReason } from "../kernel/reason.ts";
import { tellable } from "../kernel/tellable.ts";
import { StartRefused } from "../ports/compute/refusal.ts";
import { isFull } from "../ports/disk.ts";

export function failedStart(error: unknown): Reason {
  const code = error instanceof StartRefused ? error.reason : isFull(error) ? "disk-full" : undefined;
  return startReason(code, tellable(error));
}
