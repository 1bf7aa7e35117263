/** Lines on their way to the disk, or what is to be said of those that will not get there. */
import type { NewLine } from "../../ports/logs/logs.ts";

/** One append, or several of which nothing is left but how many lines they had. */
export interface WaitingLines {
  lines: NewLine[];
  at: string | undefined;
  /** Lines that are missing in this place, and the time of the last one. */
  dropped?: { count: number; ts: number };
}

/** What a line costs in memory beside its text. */
const LINE_COST = 64;

export function sizeOf({ lines }: WaitingLines): number {
  return lines.reduce((sum, { line }) => sum + line.length + LINE_COST, LINE_COST);
}

/** The position stays: the collector need not bring again what was dropped once. */
export function dropped(all: readonly WaitingLines[]): WaitingLines {
  const count = all.reduce((sum, one) => sum + one.lines.length + (one.dropped?.count ?? 0), 0);
  const ts = all.map((one) => one.lines.at(-1)?.ts ?? one.dropped?.ts).findLast((time) => time !== undefined);
  const at = all.findLast((one) => one.at !== undefined)?.at;
  return { lines: [], at, ...(ts === undefined ? {} : { dropped: { count, ts } }) };
}

/** With a line of the platform in the place of those that are missing. */
export function withNote(
  { lines, at, dropped }: WaitingLines,
  fault: string | undefined,
): { lines: NewLine[]; at?: string } {
  if (!dropped) return { lines, at };
  const { count, ts } = dropped;
  const why = fault ?? "they came faster than they could be written";
  return {
    lines: [{ source: "system", ts, line: `${count} ${count === 1 ? "line was" : "lines were"} dropped: ${why}` }],
    at,
  };
}

/** In words for the owner of the log, who need not know the server's folders. */
export function faultOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT" ? "the server's disk was full" : `the server's disk failed (${code})`;
}
