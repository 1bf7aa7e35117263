/** Limits how many logs an account follows at once, and how fast it gets them, so that others do not have to wait. */
import { Allowance, type Speed } from "../../kernel/allowance.ts";
import type { Clock } from "../../kernel/clock.ts";
import { EventBlock } from "../../kernel/event-block.ts";
import type { Gone } from "../../kernel/gone.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import { pause } from "../../kernel/wait.ts";
import type { LogLine } from "../../ports/logs/logs.ts";

/** The bytes that all readers of an account get, and all readers of this node. */
const OF_ACCOUNT: Speed = { perSecond: 4_000_000, atOnce: 16_000_000 };
const OF_ALL: Speed = { perSecond: 16_000_000, atOnce: 64_000_000 };
/** Remembers the reading speed of this many accounts. Beyond that, accounts that are not reading are forgotten. */
const MOST_KNOWN = 1000;

const DEFAULT_LOG_READERS = 100;
/** A reader whose key or session has ended gets no line from then on, after this long at most. */
const LOOK_MS = 1000;

/** Who reads. Another node that reads for somebody has no key, and looks itself. */
interface Reader {
  account: string;
  key?: string;
}

export interface LogReadersParts {
  clock: Clock;
  /** The most readers that an account may have at once. */
  most?: number | undefined;
  /** Whether a key or session is still good. */
  isStanding: (key: string) => Promise<boolean>;
}

interface Account {
  readers: number;
  allowance: Allowance;
}

/** Makes the events of a batch of lines. */
type BlockOf<T, Batch = LogLine[]> = (batch: Batch) => EventBlock<T>;

export class LogReaders {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #isStanding: LogReadersParts["isStanding"];
  readonly #accounts = new Map<string, Account>();
  readonly #all = new Allowance(OF_ALL);

  constructor({ clock, most = DEFAULT_LOG_READERS, isStanding }: LogReadersParts) {
    this.#clock = clock;
    this.#most = most;
    this.#isStanding = isStanding;
  }

  /** Follows the log of one worker or Pod. If its node is lost meanwhile, the last line says so. */
  followOne<T>(
    reader: Reader,
    gone: AbortSignal,
    blockOf: BlockOf<T>,
    open: () => Promise<AsyncIterable<LogLine[]>>,
  ): Promise<AsyncIterable<EventBlock<T>>> {
    return this.follow(reader, gone, blockOf, async () => withLastWords(await open(), this.#clock));
  }

  /** Streams what `open` returns as events. The reader counts against its account's limit until `gone` aborts. */
  async follow<T, Batch>(
    { account, key }: Reader,
    gone: AbortSignal,
    blockOf: BlockOf<T, Batch>,
    open: () => Promise<AsyncIterable<Batch>>,
  ): Promise<AsyncIterable<EventBlock<T>>> {
    const own = this.#accountOf(account);
    if (own.readers >= this.#most) throw this.#refusal();
    own.readers++;
    const leave = () => void own.readers--;
    gone.addEventListener("abort", leave, { once: true });
    try {
      if (gone.aborted) leave();
      return this.#paced(this.#whileStanding(key, await open()), own, gone, blockOf);
    } catch (error) {
      gone.removeEventListener("abort", leave);
      if (!gone.aborted) leave();
      throw error;
    }
  }

  /** Ends with the key. A client that comes back is told why. */
  async *#whileStanding<Batch>(key: string | undefined, batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
    let lookedAt = this.#clock.monotonic();
    for await (const batch of batches) {
      if (key !== undefined && this.#clock.monotonic() - lookedAt >= LOOK_MS) {
        lookedAt = this.#clock.monotonic();
        if (!(await this.#isStanding(key))) return;
      }
      yield batch;
    }
  }

  async *#paced<T, Batch>(
    batches: AsyncIterable<Batch>,
    { allowance }: Account,
    gone: Gone,
    blockOf: BlockOf<T, Batch>,
  ): AsyncGenerator<EventBlock<T>> {
    for await (const batch of batches) {
      const block = blockOf(batch);
      yield block;
      const nowMs = this.#clock.monotonic();
      const { length } = block.bytes;
      const waitMs = Math.max(allowance.spend(length, nowMs), this.#all.spend(length, nowMs));
      if (waitMs > 0) await pause(this.#clock, waitMs, gone);
    }
  }

  #accountOf(account: string): Account {
    const known = this.#accounts.get(account) ?? { readers: 0, allowance: new Allowance(OF_ACCOUNT) };
    if (this.#accounts.size >= MOST_KNOWN) this.#forget();
    this.#accounts.set(account, known);
    return known;
  }

  #forget(): void {
    const nowMs = this.#clock.monotonic();
    for (const [account, { readers, allowance }] of this.#accounts)
      if (readers === 0 && allowance.isEven(nowMs)) this.#accounts.delete(account);
  }

  #refusal() {
    return problem(
      "too-much",
      `This account follows ${this.#most} logs here, and may not follow more at once: close one, or raise MILLRACE_LOG_READERS.`,
    );
  }
}

/** Makes each block only once for all of its readers. */
export function sharedBlocks<T>(eventOf: (line: LogLine) => { id: string; data: T }): BlockOf<T> {
  const made = new WeakMap<LogLine[], EventBlock<T>>();
  return (lines) => {
    const block = made.get(lines) ?? new EventBlock(lines.map(eventOf));
    made.set(lines, block);
    return block;
  };
}

/** The last line has the id of the one before it. So whoever sends it back goes on behind what was read. */
async function* withLastWords(blocks: AsyncIterable<LogLine[]>, clock: Clock): AsyncGenerator<LogLine[]> {
  let { ts, sequence } = { ts: clock.now(), sequence: 0 };
  try {
    for await (const block of blocks) {
      ({ ts, sequence } = block.at(-1) ?? { ts, sequence });
      yield block;
    }
  } catch (error) {
    if (!isProblem(error, "no-answer")) throw error;
    yield [{ source: "system", ts, sequence, line: `the log breaks off: ${error.detail}` }];
  }
}
