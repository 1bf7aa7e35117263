/** One append to a stream as one line of a file. A torn line does not count, so an append is there as a whole or not at all. */
import type { LogLine, NewLine } from "../../ports/logs/logs.ts";

export interface LogRecord {
  /** The sequence of the first line. The others are numbered from there. */
  first: number;
  /** The collector's position after these lines. */
  at: string | undefined;
  lines: NewLine[];
}

/** The stored form: time, source (0 for the container, 1 for the system) and text of each line. */
interface Wire {
  n: number;
  at?: string;
  l: [ts: number, isSystem: 0 | 1, line: string][];
}

export function recordText({ first, at, lines }: LogRecord): string {
  const wire: Wire = { n: first, at, l: lines.map(({ ts, source, line }) => [ts, source === "system" ? 1 : 0, line]) };
  return `${JSON.stringify(wire)}\n`;
}

/** Undefined for a record that a crash or a full disk has torn. */
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
