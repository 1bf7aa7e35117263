/** The logs port: keeps lines of workers and Pods, and what the platform says about them, in order and for some time. */

export const logSources = ["container", "system"] as const;
export type LogSource = (typeof logSources)[number];

export interface NewLine {
  source: LogSource;
  ts: number;
  line: string;
}

export interface LogLine extends NewLine {
  /** Grows by one with every line of its stream. Together with `ts` it is the line's id. */
  sequence: number;
}

/**
 * Where reading begins: at the last lines, at the first line of that time or later, or after a line that was seen. If the sequence of that
 * line is not known here, or not given, its time counts.
 */
export type From = { tail: number } | { since: number } | { after: { ts: number; sequence?: number } };

export interface Query {
  from: From;
  source?: LogSource;
  /** Following ends with the last line that is kept when it begins. */
  endsNow?: boolean;
}

/** A stream is named by a path such as `worker/<endpoint>/<worker>`. */
export interface Logs extends AsyncDisposable {
  /** Never waits and never fails. Under pressure or on a full disk lines are dropped, and a system line says how many. */
  append(stream: string, lines: readonly NewLine[], position?: string): void;
  /** Returns the position stored with the newest lines, from which the collector continues after a restart. */
  position(stream: string): Promise<string | undefined>;
  read(stream: string, query: Query): Promise<LogLine[]>;
  /**
   * Yields what `read` returns and then every new line, without repeats, until `signal` aborts or the stream is removed. Lines come in
   * blocks, and all readers that wait for new lines get the same arrays, so work on a block can be shared. Only a limited amount waits for
   * a slow reader. It skips the rest, and lines that are no longer kept; a line in their place says how many.
   */
  follow(stream: string, query: Query, signal: AbortSignal): AsyncIterable<LogLine[]>;
  /** True while anything of this stream is kept. */
  has(stream: string): Promise<boolean>;
  /** The last names of up to `most` streams directly below a path that ends in `/`, those begun last first, to within milliseconds. */
  newest(below: string, most: number): Promise<string[]>;
  /** Removes a stream, or every stream below a path that ends in `/`. Nothing of it is left on disk. */
  remove(path: string): Promise<void>;
  /** Removes the streams below a path to which nothing was added since `before`. All others stay, even if they are quiet. */
  expire(below: string, before: number): Promise<void>;
}

const STREAM = /^[a-zA-Z0-9_-]{1,100}(\/[a-zA-Z0-9_-]{1,100}){0,7}$/;

/**
 * A name is plain words between slashes, so it cannot lead out of the folder in which an adapter keeps streams. Lines of other names are
 * not kept.
 */
export function isStreamName(name: string): boolean {
  return STREAM.test(name);
}

/** Longer lines are continued on the next line, so that no reader has to hold more than this at once. */
const LONGEST_LINE = 16_384;

export function cutLines(lines: readonly NewLine[]): NewLine[] {
  if (lines.every(({ line }) => line.length <= LONGEST_LINE)) return [...lines];
  return lines.flatMap(({ line, ...rest }) =>
    Array.from({ length: Math.max(1, Math.ceil(line.length / LONGEST_LINE)) }, (_, i) => ({
      ...rest,
      line: line.slice(i * LONGEST_LINE, (i + 1) * LONGEST_LINE),
    })),
  );
}
