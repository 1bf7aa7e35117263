/** Readers of log streams: each reads the history first, and then new lines, which all readers of a stream share in memory. */
import type { Clock } from "../../kernel/clock.ts";
import { blocksOf, Feed, type Held, type LogBlock } from "./feed.ts";
import type { From, LogLine, LogSource, Query } from "./logs.ts";

/** The lines of one stream as an adapter keeps them. */
export interface KeptLines {
  /** The sequence of the newest line; 0 when there is none. */
  last: number;
  /** Yields the kept lines with a larger sequence, in order, in slices. */
  after(sequence: number): AsyncIterable<LogLine[]>;
  /** Returns the sequence after which the last `count` lines of this source follow. */
  tail(count: number, source: LogSource | undefined): Promise<number>;
}

/** One reader, which waits until there is something to read or the stream ends. */
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

/** A stream with at least one reader. */
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

  /** Ends the readers of the streams for which `isOver` is true. */
  end(isOver: (stream: string) => boolean): void {
    for (const [stream, { followers }] of this.#followed)
      if (isOver(stream)) for (const follower of followers) follower.end();
  }

  /** `open` returns the kept lines, including everything appended before the call. */
  async *follow(
    stream: string,
    { from, source, endsNow }: Query,
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
      for await (const block of this.#history(kept, endsNow ? undefined : feed, cursor, upTo)) {
        if (follower.isOver) return;
        if (cursor > 0 && block.first > cursor + 1) yield [gapBefore(block, cursor, notKept)];
        cursor = block.last;
        const lines = block.of(source);
        if (lines.length > 0) yield lines;
      }
      while (!follower.isOver && !endsNow) {
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

  /** Yields lines kept before the reader came, as far as they are not in memory. Each reader reads these for itself. */
  async *#history(kept: KeptLines, feed: Feed | undefined, start: number, upTo: number): AsyncGenerator<LogBlock> {
    if (feed?.reaches(start) || start >= upTo) return;
    for await (const lines of kept.after(start))
      for (const block of blocksOf(lines)) {
        yield block;
        if (block.last >= upTo || feed?.reaches(block.last)) return;
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

/** Returns the sequence after which reading begins. */
async function startOf(kept: KeptLines, from: From, source: LogSource | undefined): Promise<number> {
  if ("tail" in from) return from.tail === 0 ? kept.last : kept.tail(from.tail, source);
  if ("since" in from) return before(kept, ({ ts }) => ts >= from.since);
  const { ts: seen, sequence } = from.after;
  if (sequence !== undefined && sequence <= kept.last) return sequence;
  return before(kept, ({ ts }) => ts > seen);
}

/** Returns the sequence before the first line that matches. Later lines may have earlier times, since clocks can be set. */
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

/** Stands in for lines that a reader missed. It is sent whatever source the reader asked for, since it is about the reading itself. */
function gapBefore({ lines, first }: LogBlock, cursor: number, words: (count: number) => string): LogLine {
  return { source: "system", ts: lines[0]!.ts, sequence: first - 1, line: words(first - cursor - 1) };
}

function ofSource(lines: LogLine[], source: LogSource | undefined): LogLine[] {
  return source === undefined ? lines : lines.filter((line) => line.source === source);
}
