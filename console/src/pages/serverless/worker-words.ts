/** What the console says of a worker. */
import type { Worker } from "@millrace/platform/resources/workers/model.ts";

const WORDS: Record<Worker["status"], string> = {
  RUNNING: "Running",
  IDLE: "Idle",
  INITIALIZING: "Starting",
  THROTTLED: "Waiting for room",
  UNHEALTHY: "Unhealthy",
};

export const wordOf = (status: string) => (Object.hasOwn(WORDS, status) ? WORDS[status as keyof typeof WORDS] : status);

/** Why no terminal can be opened in it now; undefined where one can. */
export function whyNoTerminal({ startedAt, status, frozen, version }: Worker): string | undefined {
  if (version === null) return "It was started by hand, on a machine that Millrace does not know.";
  if (frozen) return "It is frozen. A job wakes it.";
  if (status === "THROTTLED") return "It has no machine yet.";
  if (!startedAt) return "Its program does not run yet.";
  if (status === "UNHEALTHY") return "Its program may have ended. Look into its log.";
  return undefined;
}
