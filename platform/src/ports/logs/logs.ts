/** The logs port: lines of workers and Pods and what the platform says about them, in order, kept for a while. */

export const logSources = ["container", "system"] as const;
export type LogSource = (typeof logSources)[number];

export interface NewLine {
  source: LogSource;
  ts: number;
  line: string;
}

export interface LogLine extends NewLine {
  /** Grows by one with every line of its stream; together with `ts` it is the line's id. */
  sequence: number;
}

/**
 * Where reading begins: with the last lines, with the first of that time or later, or behind a line already seen. Of a line whose
 * sequence is not known here, and of one named by its time alone, the time counts.
 */
export type From = { tail: number } | { since: number } | { after: { ts: number; sequence?: number } };

export interface Query {
  from: From;
  source?: LogSource;
}

/** A stream is named by a path such as `worker/<endpoint>/<worker>`. */
export interface Logs extends AsyncDisposable {
  /** Never waits and never fails the caller: under pressure or on a full disk lines are dropped, and a system line says how many. */
  append(stream: string, lines: readonly NewLine[], position?: string): void;
  /** The position that came with the newest lines: where the collector goes on after a restart. */
  position(stream: string): Promise<string | undefined>;
  read(stream: string, query: Query): Promise<LogLine[]>;
  /**
   * What `read` gives, then every line as it comes, without repeating one, until `signal` aborts or the stream is removed. Lines come in
   * blocks, and those who wait for new lines get the very same arrays: what one makes of a block can be kept for the others. Only so much
   * waits for a reader who is slow. It skips the rest, and so it does what is no longer kept; a line in their place says how many.
   */
  follow(stream: string, query: Query, signal: AbortSignal): AsyncIterable<LogLine[]>;
  /** True while anything of this stream is kept. */
  has(stream: string): Promise<boolean>;
  /** Removes a stream, or every stream below a path that ends in `/`, so that nothing of it is left on the disk. */
  remove(path: string): Promise<void>;
  /** Removes streams below a path to which nothing was added since then. Others stay, however quiet. */
  expire(below: string, before: number): Promise<void>;
}

const STREAM = /^[a-zA-Z0-9_-]{1,100}(\/[a-zA-Z0-9_-]{1,100}){0,7}$/;

/** Plain words between slashes: no name leads out of the folder that an adapter may keep streams in. Of another nothing is kept. */
export function isStreamName(name: string): boolean {
  return STREAM.test(name);
}

/** Longer lines are continued on the next one, so that no reader has to hold more than this at once. */
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
