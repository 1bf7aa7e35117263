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

/** Where reading begins: the last lines, those after a time, or those after a line already seen. */
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
  /** What `read` gives, then every line as it comes, without a gap and without repeating one, until `signal` aborts. */
  follow(stream: string, query: Query, signal: AbortSignal): AsyncIterable<LogLine[]>;
  /** True while anything of this stream is kept. */
  has(stream: string): Promise<boolean>;
  /** Removes a stream, or every stream below a path that ends in `/`, so that nothing of it is left on the disk. */
  remove(path: string): Promise<void>;
  /** Removes streams to which nothing was added since then. */
  expire(before: number): Promise<void>;
}
