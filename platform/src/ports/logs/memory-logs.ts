/** Logs that are only in memory, for tests and for installations that end with their process. */
import { type Clock, realClock } from "../../kernel/clock.ts";
import { Followers, type KeptLines, readLines } from "./followers.ts";
import { cutLines, isStreamName, type LogLine, type LogSource, type Logs, type NewLine, type Query } from "./logs.ts";

const MOST_LINES = 10_000;

class Stream implements KeptLines {
  lines: LogLine[] = [];
  last = 0;
  position: string | undefined;
  newestTs = Number.NEGATIVE_INFINITY;

  async *after(sequence: number): AsyncGenerator<LogLine[]> {
    const lines = this.lines.filter((line) => line.sequence > sequence);
    if (lines.length > 0) yield lines;
  }

  async tail(count: number, source: LogSource | undefined): Promise<number> {
    const wanted = this.lines.filter((line) => source === undefined || line.source === source);
    return (wanted.at(-count) ?? wanted[0] ?? { sequence: this.last + 1 }).sequence - 1;
  }
}

export class MemoryLogs implements Logs {
  readonly #streams = new Map<string, Stream>();
  readonly #followers: Followers;

  constructor(clock: Clock = realClock) {
    this.#followers = new Followers(clock);
  }

  append(name: string, lines: readonly NewLine[], position?: string): void {
    if (!isStreamName(name)) throw new Error(`'${name}' cannot name a log stream`);
    const stream = this.#streams.get(name) ?? new Stream();
    this.#streams.set(name, stream);
    const added = cutLines(lines).map((line) => ({ ...line, sequence: ++stream.last }));
    stream.lines = [...stream.lines, ...added].slice(-MOST_LINES);
    stream.position = position ?? stream.position;
    stream.newestTs = added.at(-1)?.ts ?? stream.newestTs;
    this.#followers.tell(name, added);
  }

  async position(stream: string): Promise<string | undefined> {
    return this.#streams.get(stream)?.position;
  }

  async read(stream: string, query: Query): Promise<LogLine[]> {
    return readLines(this.#kept(stream), query);
  }

  follow(stream: string, query: Query, signal: AbortSignal): AsyncIterable<LogLine[]> {
    return this.#followers.follow(stream, query, signal, async () => this.#kept(stream));
  }

  async has(stream: string): Promise<boolean> {
    return this.#streams.has(stream);
  }

  async newest(below: string, most: number): Promise<string[]> {
    const names = [...this.#streams.keys()]
      .filter((name) => name.startsWith(below))
      .map((name) => name.slice(below.length));
    return names
      .filter((name) => !name.includes("/"))
      .reverse()
      .slice(0, most);
  }

  async remove(path: string): Promise<void> {
    const isGone = (stream: string) => (path.endsWith("/") ? stream.startsWith(path) : stream === path);
    for (const stream of this.#streams.keys()) if (isGone(stream)) this.#streams.delete(stream);
    this.#followers.end(isGone);
  }

  async expire(below: string, before: number): Promise<void> {
    for (const [name, { newestTs }] of this.#streams)
      if (name.startsWith(below) && newestTs < before) await this.remove(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#followers.end(() => true);
  }

  #kept(stream: string): Stream {
    return this.#streams.get(stream) ?? new Stream();
  }
}
