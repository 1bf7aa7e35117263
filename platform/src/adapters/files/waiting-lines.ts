/** Lines that wait to be written to disk, or the note that stands for lines that were dropped. */
import type { NewLine } from "../../ports/logs/logs.ts";

/** One append, or the number of lines in several appends that were dropped. */
export interface WaitingLines {
  lines: NewLine[];
  at: string | undefined;
  /** How many lines are missing here, and the time of the last one. */
  dropped?: { count: number; ts: number };
}

/** The memory that a line costs in addition to its text. */
const LINE_COST = 64;

export function sizeOf({ lines }: WaitingLines): number {
  return lines.reduce((sum, { line }) => sum + line.length + LINE_COST, LINE_COST);
}

/** The position stays, so that the collector does not bring the dropped lines again. */
export function dropped(all: readonly WaitingLines[]): WaitingLines {
  const count = all.reduce((sum, one) => sum + one.lines.length + (one.dropped?.count ?? 0), 0);
  const ts = all.map((one) => one.lines.at(-1)?.ts ?? one.dropped?.ts).findLast((time) => time !== undefined);
  const at = all.findLast((one) => one.at !== undefined)?.at;
  return { lines: [], at, ...(ts === undefined ? {} : { dropped: { count, ts } }) };
}

/** Puts a line of the platform in the place of the missing ones. */
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

/** A message for the owner of the log, without the server's paths. */
export function faultOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOSPC" || code === "EDQUOT" ? "the server's disk was full" : `the server's disk failed (${code})`;
}
