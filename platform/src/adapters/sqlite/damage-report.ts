/** Tells the operator what a damaged write-ahead log has cost. */
import { basename } from "node:path";
import type { Damage } from "./wal-check.ts";

/** Matches the ids of jobs anywhere in a page. */
const JOB_ID = /(?:sync-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}-u1/g;
const SHOWN = 20;

export function damageText(database: string, { kept, at, commits, isLastOnly }: Damage): string {
  const lost =
    commits === undefined
      ? "nothing of it can be read: the last writes are lost"
      : `${commits} ${commits === 1 ? "commit" : "commits"} behind it ${commits === 1 ? "is" : "are"} lost`;
  const perhaps = isLastOnly ? ", unless the power failed while it was written: then nobody was told of it" : "";
  return `the log of ${basename(database)} is damaged at byte ${at}: ${lost}${perhaps}. It is kept as ${kept}`;
}

/** Jobs that the damaged part mentions. Those that can no longer be found were in it. */
export const jobsIn = ({ text }: Damage): string[] => [...new Set(text.match(JOB_ID) ?? [])];

export function missingText(missing: readonly string[]): string {
  const more = missing.length > SHOWN ? ` and ${missing.length - SHOWN} more` : "";
  return `${missing.length} ${missing.length === 1 ? "job it spoke of is" : "jobs it spoke of are"} not there: ${missing.slice(0, SHOWN).join(", ")}${more}`;
}
