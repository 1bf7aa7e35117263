/** Readers of log streams: history first, then what comes, handed to all of them from one place in memory. */
import type { From, LogLine, LogSource, Query } from "./logs.ts";

/** Lines of one stream as an adapter keeps them. */
export interface KeptLines {
  /** The newest line's sequence; 0 when there is none. */
  last: number;
  /** Kept lines with a larger sequence, in order, slice by slice. */
  after(sequence: number): AsyncIterable<LogLine[]>;
  /** The sequence behind which the last `count` lines of this source are. */
  tail(count: number, source: LogSource | undefined): Promise<number>;
}

/** What may wait in memory for one reader; a slower one reads from what is kept, at its own pace. */
const MOST_WAITING = 1000;

class Follower {
  #waiting: LogLine[][] = [];
  #count = 0;
  #wake: (() => void) | undefined;
  /** What comes next is to be read from what is kept. */
  isBehind = true;
  isOver = false;

  give(lines: LogLine[]): void {
    this.#waiting.push(lines);
    this.#count += lines.length;
    if (this.isBehind || this.#count > MOST_WAITING) this.#fallBehind();
    this.#wake?.();
  }

  end(): void {
    this.isOver = true;
    this.#wake?.();
  }

  async take(): Promise<LogLine[]> {
    while (!this.isOver && !this.isBehind && this.#waiting.length === 0)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    return this.#clear().flat();
  }

  #fallBehind(): void {
    this.isBehind = true;
    this.#clear();
  }

  #clear(): LogLine[][] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#count = 0;
    return waiting;
  }
}

export class Followers {
  readonly #followers = new Map<string, Set<Follower>>();

  has(stream: string): boolean {
    return this.#followers.has(stream);
  }

  tell(stream: string, lines: LogLine[]): void {
    if (lines.length > 0) for (const follower of this.#followers.get(stream) ?? []) follower.give(lines);
  }

  /** Ends the readers of the streams that this is true of. */
  end(isOver: (stream: string) => boolean): void {
    for (const [stream, followers] of this.#followers)
      if (isOver(stream)) for (const follower of followers) follower.end();
  }

  /** `open` gives what is kept, everything that was appended before included. */
  async *follow(
    stream: string,
    { from, source }: Query,
    signal: AbortSignal,
    open: () => Promise<KeptLines>,
  ): AsyncGenerator<LogLine[]> {
    const follower = this.#add(stream);
    const end = () => follower.end();
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    try {
      let cursor = await startOf(await open(), from, source);
      for (; !follower.isOver; ) {
        for await (const lines of this.#next(follower, cursor, open)) {
          if (follower.isOver) return;
          const wanted = ofSource(withGap(lines, cursor), source);
          cursor = lines.at(-1)!.sequence;
          if (wanted.length > 0) yield wanted;
        }
      }
    } finally {
      signal.removeEventListener("abort", end);
      this.#remove(stream, follower);
    }
  }

  /** Lines beyond the cursor: from what is kept for a reader who is behind, else as they come. */
  async *#next(follower: Follower, cursor: number, open: () => Promise<KeptLines>): AsyncGenerator<LogLine[]> {
    if (follower.isBehind) {
      // From here on lines are gathered; those that are read as well are told apart by their sequence.
      follower.isBehind = false;
      yield* (await open()).after(cursor);
      return;
    }
    const fresh = (await follower.take()).filter(({ sequence }) => sequence > cursor);
    if (fresh.length > 0) yield fresh;
  }

  #add(stream: string): Follower {
    const follower = new Follower();
    const followers = this.#followers.get(stream) ?? new Set();
    this.#followers.set(stream, followers.add(follower));
    return follower;
  }

  #remove(stream: string, follower: Follower): void {
    const followers = this.#followers.get(stream);
    followers?.delete(follower);
    if (followers?.size === 0) this.#followers.delete(stream);
  }
}

export async function readLines(kept: KeptLines, { from, source }: Query): Promise<LogLine[]> {
  const read: LogLine[] = [];
  for await (const lines of kept.after(await startOf(kept, from, source))) read.push(...ofSource(lines, source));
  return read;
}

/** The sequence behind which reading begins. */
async function startOf(kept: KeptLines, from: From, source: LogSource | undefined): Promise<number> {
  if ("tail" in from) return from.tail === 0 ? kept.last : kept.tail(from.tail, source);
  if ("since" in from) return before(kept, ({ ts }) => ts >= from.since);
  const { ts: seen, sequence } = from.after;
  if (sequence !== undefined && sequence <= kept.last) return sequence;
  return before(kept, ({ ts }) => ts > seen);
}

/** Everything from the first such line on, whatever times those behind it carry: clocks may be set. */
async function before(kept: KeptLines, isFirst: (line: LogLine) => boolean): Promise<number> {
  for await (const lines of kept.after(0)) {
    const first = lines.find(isFirst);
    if (first) return first.sequence - 1;
  }
  return kept.last;
}

/** Lines that a reader had still to get, but that are no longer kept, are spoken for by one in their place. */
function withGap(lines: LogLine[], cursor: number): LogLine[] {
  const { ts, sequence } = lines[0]!;
  const missing = sequence - cursor - 1;
  if (missing <= 0 || cursor === 0) return lines;
  const line = `${missing} lines are no longer kept`;
  return [{ source: "system", ts, sequence: sequence - 1, line }, ...lines];
}

function ofSource(lines: LogLine[], source: LogSource | undefined): LogLine[] {
  return source === undefined ? lines : lines.filter((line) => line.source === source);
}
