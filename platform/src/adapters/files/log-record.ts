/** What one append adds to a stream, as one line of a file: there as a whole, or torn and then not at all. */
import type { LogLine, NewLine } from "../../ports/logs/logs.ts";

export interface LogRecord {
  /** Sequence of the first line; the others follow. */
  first: number;
  /** Where the collector goes on after these lines. */
  at: string | undefined;
  lines: NewLine[];
}

/** Times, sources as 0 and 1, and texts: a stream mostly holds the program's own words. */
interface Wire {
  n: number;
  at?: string;
  l: [ts: number, isSystem: 0 | 1, line: string][];
}

export function recordText({ first, at, lines }: LogRecord): string {
  const wire: Wire = { n: first, at, l: lines.map(({ ts, source, line }) => [ts, source === "system" ? 1 : 0, line]) };
  return `${JSON.stringify(wire)}\n`;
}

/** Undefined for what a crash or a full disk has left of a record. */
export function parseRecord(text: string): LogRecord | undefined {
  try {
    const { n, at, l } = JSON.parse(text) as Wire;
    if (!Number.isSafeInteger(n) || !Array.isArray(l)) return undefined;
    return {
      first: n,
      at,
      lines: l.map(([ts, isSystem, line]) => ({ ts, source: isSystem ? "system" : "container", line })),
    };
  } catch {
    return undefined;
  }
}

export function numberedLines({ first, lines }: LogRecord): LogLine[] {
  return lines.map((line, i) => ({ ...line, sequence: first + i }));
}

export const lastSequence = ({ first, lines }: LogRecord) => first + lines.length - 1;
