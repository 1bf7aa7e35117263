/** Readers of log streams: history first, then what comes, handed to all of them from one place in memory. */
import type { Clock } from "../../kernel/clock.ts";
import { blocksOf, Feed, type Held, type LogBlock } from "./feed.ts";
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

/** One reader, who waits until something has come or all is over. */
class Follower {
  #wake: (() => void) | undefined;
  isOver = false;

  stir(): void {
    this.#wake?.();
  }

  end(): void {
    this.isOver = true;
    this.stir();
  }

  stirred(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** A stream that is followed. */
interface Followed {
  feed: Feed;
  followers: Set<Follower>;
}

export class Followers {
  readonly #clock: Clock;
  readonly #held: Held = { size: 0 };
  readonly #followed = new Map<string, Followed>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  tell(stream: string, lines: LogLine[]): void {
    if (lines.length > 0) this.#followed.get(stream)?.feed.tell(lines);
  }

  /** Ends the readers of the streams that this is true of. */
  end(isOver: (stream: string) => boolean): void {
    for (const [stream, { followers }] of this.#followed)
      if (isOver(stream)) for (const follower of followers) follower.end();
  }

  /** `open` gives what is kept, everything that was appended before included. */
  async *follow(
    stream: string,
    { from, source }: Query,
    signal: AbortSignal,
    open: () => Promise<KeptLines>,
  ): AsyncGenerator<LogLine[]> {
    const follower = new Follower();
    const feed = this.#join(stream, follower);
    const end = () => follower.end();
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    try {
      const kept = await open();
      const upTo = kept.last;
      let cursor = await startOf(kept, from, source);
      for await (const block of this.#history(kept, feed, cursor, upTo)) {
        if (follower.isOver) return;
        if (cursor > 0 && block.first > cursor + 1) yield [gapBefore(block, cursor, notKept)];
        cursor = block.last;
        const lines = block.of(source);
        if (lines.length > 0) yield lines;
      }
      while (!follower.isOver) {
        const block = feed.after(cursor)?.beyond(cursor);
        if (!block) {
          await follower.stirred();
          continue;
        }
        if (block.first > cursor + 1) yield [gapBefore(block, cursor, skipped)];
        cursor = block.last;
        const lines = block.of(source);
        if (lines.length > 0) yield lines;
      }
    } finally {
      signal.removeEventListener("abort", end);
      this.#leave(stream, follower);
    }
  }

  /** What was kept when the reader came, as far as it is not in memory: each reads this for itself. */
  async *#history(kept: KeptLines, feed: Feed, start: number, upTo: number): AsyncGenerator<LogBlock> {
    if (feed.reaches(start)) return;
    for await (const lines of kept.after(start))
      for (const block of blocksOf(lines)) {
        yield block;
        if (block.last >= upTo || feed.reaches(block.last)) return;
      }
  }

  #join(stream: string, follower: Follower): Feed {
    const { feed, followers } = this.#followed.get(stream) ?? this.#begin(stream);
    followers.add(follower);
    return feed;
  }

  #begin(stream: string): Followed {
    const followers = new Set<Follower>();
    const sealed = () => {
      for (const follower of followers) follower.stir();
    };
    const followed = { feed: new Feed({ clock: this.#clock, held: this.#held, sealed }), followers };
    this.#followed.set(stream, followed);
    return followed;
  }

  #leave(stream: string, follower: Follower): void {
    const { feed, followers } = this.#followed.get(stream)!;
    followers.delete(follower);
    if (followers.size > 0) return;
    this.#followed.delete(stream);
    feed[Symbol.dispose]();
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

const linesIn = (count: number) => `${count} ${count === 1 ? "line" : "lines"}`;
const notKept = (count: number) => `${linesIn(count)} ${count === 1 ? "is" : "are"} no longer kept`;
const skipped = (count: number) => `${linesIn(count)} skipped: they came faster than this reader reads`;

/** Stands in the place of lines that a reader had still to get. It comes whichever source was asked for: it is about the reading. */
function gapBefore({ lines, first }: LogBlock, cursor: number, words: (count: number) => string): LogLine {
  return { source: "system", ts: lines[0]!.ts, sequence: first - 1, line: words(first - cursor - 1) };
}

function ofSource(lines: LogLine[], source: LogSource | undefined): LogLine[] {
  return source === undefined ? lines : lines.filter((line) => line.source === source);
}
