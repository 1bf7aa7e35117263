/** The newest lines of one stream, in blocks that all of its readers share, so that each line takes memory only once. */
import { Allowance } from "../../kernel/allowance.ts";
import type { Clock, Timer } from "../../kernel/clock.ts";
import type { LogLine, LogSource } from "./logs.ts";

/** The most lines and characters in a block, so that no reader handles more at once. */
const BLOCK_LINES = 1024;
const BLOCK_CHARACTERS = 65_536;
/** What a line costs in memory in addition to its text. */
const LINE_COST = 256;
/** How much is held for the readers of one stream, and of all streams together. Readers that fall further behind skip lines. */
const MOST_OF_STREAM = 512 * 1024;
const MOST_OF_ALL = 64 * 1024 * 1024;
/** Every block wakes every reader, so lines that come faster are gathered. */
const BLOCKS = { perSecond: 20, atOnce: 40 };

export class LogBlock {
  readonly lines: LogLine[];
  readonly size: number;
  readonly #ofSource = new Map<LogSource, LogLine[]>();

  constructor(lines: LogLine[]) {
    this.lines = lines;
    this.size = lines.reduce((sum, { line }) => sum + line.length + LINE_COST, 0);
  }

  get first(): number {
    return this.lines[0]!.sequence;
  }

  get last(): number {
    return this.lines.at(-1)!.sequence;
  }

  /** Returns the lines of one source, or all. Everyone gets the same array. */
  of(source: LogSource | undefined): LogLine[] {
    if (source === undefined) return this.lines;
    const known = this.#ofSource.get(source) ?? this.lines.filter((line) => line.source === source);
    this.#ofSource.set(source, known);
    return known;
  }

  /** Returns the part of the block that a reader at this sequence has not seen. */
  beyond(sequence: number): LogBlock {
    return this.first > sequence ? this : new LogBlock(this.lines.filter((line) => line.sequence > sequence));
  }
}

export function blocksOf(lines: readonly LogLine[]): LogBlock[] {
  const blocks: LogBlock[] = [];
  for (let start = 0; start < lines.length; ) {
    let [end, characters] = [start, 0];
    while (end < lines.length && end - start < BLOCK_LINES && characters < BLOCK_CHARACTERS)
      characters += lines[end++]!.line.length;
    blocks.push(new LogBlock(lines.slice(start, end)));
    start = end;
  }
  return blocks;
}

/** How much all feeds hold together. */
export interface Held {
  size: number;
}

export class Feed implements Disposable {
  readonly #clock: Clock;
  readonly #held: Held;
  readonly #sealed: () => void;
  readonly #rhythm = new Allowance(BLOCKS);
  readonly #blocks: LogBlock[] = [];
  #size = 0;
  #gathered: LogLine[][] = [];
  #gatheredSize = 0;
  #resting: Timer | undefined;

  /** `sealed` is called when there is a new block. */
  constructor(parts: { clock: Clock; held: Held; sealed: () => void }) {
    this.#clock = parts.clock;
    this.#held = parts.held;
    this.#sealed = parts.sealed;
  }

  tell(lines: LogLine[]): void {
    this.#gathered.push(lines);
    this.#gatheredSize += lines.reduce((sum, { line }) => sum + line.length + LINE_COST, 0);
    if (!this.#resting || this.#gatheredSize > MOST_OF_STREAM) this.#seal();
  }

  /** Returns the first block that has lines after this sequence. */
  after(sequence: number): LogBlock | undefined {
    // The search starts at the end, since most readers are nearly there.
    let index = this.#blocks.length;
    while (index > 0 && this.#blocks[index - 1]!.last > sequence) index--;
    return this.#blocks[index];
  }

  /** Whether a reader at this sequence can continue from here without missing a line. */
  reaches(sequence: number): boolean {
    return this.#blocks.length > 0 && this.#blocks[0]!.first <= sequence + 1;
  }

  [Symbol.dispose](): void {
    this.#resting?.cancel();
    this.#held.size -= this.#size;
  }

  #seal(): void {
    const lines = this.#gathered.length === 1 ? this.#gathered[0]! : this.#gathered.flat();
    this.#gathered = [];
    this.#gatheredSize = 0;
    for (const block of blocksOf(lines)) {
      this.#blocks.push(block);
      this.#count(block.size);
    }
    this.#drop();
    const waitMs = this.#rhythm.spend(1, this.#clock.monotonic());
    this.#resting?.cancel();
    this.#resting = waitMs > 0 ? this.#clock.after(waitMs, () => this.#rested()) : undefined;
    this.#sealed();
  }

  #rested(): void {
    this.#resting = undefined;
    if (this.#gathered.length > 0) this.#seal();
  }

  /** Drops the oldest blocks. The newest block stays for readers that wait. */
  #drop(): void {
    while (this.#blocks.length > 1 && (this.#size > MOST_OF_STREAM || this.#held.size > MOST_OF_ALL))
      this.#count(-this.#blocks.shift()!.size);
  }

  #count(size: number): void {
    this.#size += size;
    this.#held.size += size;
  }
}
