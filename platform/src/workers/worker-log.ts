/** The log of workers, and what of a worker's end may be told to others. */
import { type InstanceLog, LAST_LINES } from "../machines/instance-log.ts";
import type { KeptWorker } from "../resources/workers/model.ts";

export type WorkerLog = InstanceLog<KeptWorker>;

/** After these comes what the program said. */
const ITS_WORDS = [LAST_LINES, "warm-up failed: ", "not fit to work: "];

/** A reason for the server's own log. What a program says is its account's, and may hold its secrets. */
export function withoutItsWords(reason: string): string {
  const [words] = ITS_WORDS.filter((start) => reason.includes(start));
  if (words === undefined) return reason;
  return `${reason.slice(0, reason.indexOf(words))}${words === LAST_LINES ? "" : words.replace(/: $/, "")}`;
}
