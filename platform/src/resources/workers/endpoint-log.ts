/** The logs of all workers of an endpoint as one stream, which workers join when they are made and leave when they have ended. */
import type { Clock } from "../../kernel/clock.ts";
import { isProblem } from "../../kernel/problem.ts";
import { pause } from "../../kernel/wait.ts";
import type { From, LogLine, Query } from "../../ports/logs/logs.ts";

/** How often the stream looks for new workers. Their records are cached for as long. */
const LOOK_MS = 1000;
/** The last lines of a worker may come after its record is gone, so it leaves the stream only after this time. */
const LEAVE_AFTER_MS = 30_000;
/** A log that could not be read is tried again after this time. */
const RETRY_MS = 15_000;
/** One stream follows this many workers. For each, one block of lines may wait. */
const MOST_WORKERS = 200;
/** How many workers of the past are looked at when a stream begins, since their last lines may be the newest that there are. */
const MOST_KEPT = 20;
/** Nodes send their lines with different delays. After a break, workers without a known line are read again from this long before. */
const DELAY_MS = 2000;

/** Lines that one worker wrote. `worker` is undefined where the stream says something about itself. */
export interface WorkerLines {
  worker: string | undefined;
  lines: readonly LogLine[];
}

/** The lines that a reader has seen: the time of the newest, and the last sequence of each worker. */
export interface SeenLines {
  ts: number;
  sequences: ReadonlyMap<string, number>;
}

/** Where a stream begins: behind what was seen, or as one log does. */
export type EndpointFrom = Exclude<From, { after: unknown }> | { seen: SeenLines };

export interface EndpointLogQuery extends Omit<Query, "from"> {
  from: EndpointFrom;
}

interface EndpointLogParts {
  clock: Clock;
  query: EndpointLogQuery;
  gone: AbortSignal;
  /** The workers that are on record now, the newest first. Undefined once the endpoint is deleted, which ends the stream. */
  workers(): Promise<string[] | undefined>;
  /** Up to so many workers whose logs are kept here, the newest first. They may have ended. */
  kept(most: number): Promise<string[]>;
  follow(worker: string, query: Query, gone: AbortSignal): Promise<AsyncIterable<LogLine[]>>;
}

interface Followed {
  stop: AbortController;
  /** When its record was first missed. */
  missedAt?: number | undefined;
  /** It ended with an error, and is tried again from this time on. */
  retryAt?: number;
}

interface Waiting extends WorkerLines {
  taken: () => void;
}

export class EndpointLog {
  readonly #parts: EndpointLogParts;
  readonly #followed = new Map<string, Followed>();
  /** Where reading each worker's log goes on. */
  readonly #starts = new Map<string, From>();
  /** At most one block of each worker. A worker's next block is read when this one was taken. */
  readonly #waiting: Waiting[] = [];
  readonly #over = new AbortController();
  #wake: (() => void) | undefined;
  #failure: { error: unknown } | undefined;
  #hasLooked = false;
  #hasToldMost = false;

  constructor(parts: EndpointLogParts) {
    this.#parts = parts;
  }

  /** Yields the lines of all workers until `gone` aborts, or only those that are kept if the query ends now. */
  async *read(): AsyncGenerator<WorkerLines> {
    const { query, gone } = this.#parts;
    yield* this.#recent();
    if (query.endsNow) return;
    const end = () => this.#end();
    gone.addEventListener("abort", end);
    if (gone.aborted) end();
    const looking = this.#lookAgain();
    try {
      while (!this.#isOver) {
        const next = this.#waiting.shift();
        if (next) {
          next.taken();
          yield { worker: next.worker, lines: next.lines };
        } else await this.#stirred();
      }
      if (this.#failure) throw this.#failure.error;
    } finally {
      gone.removeEventListener("abort", end);
      end();
      await looking;
    }
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted;
  }

  #stirred(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #end(failure?: { error: unknown }): void {
    this.#failure ??= failure;
    this.#over.abort();
    for (const worker of [...this.#followed.keys()]) this.#leave(worker);
    // Those that wait go on, see that they are stopped, and close their logs.
    for (const { taken } of this.#waiting.splice(0)) taken();
    this.#wake?.();
  }

  /** Yields the lines that are kept, in the order of their times, where the reader asked for a number of them or for these alone. */
  async *#recent(): AsyncGenerator<WorkerLines> {
    const { query, gone } = this.#parts;
    const { from, endsNow } = query;
    if (!endsNow && !("tail" in from && from.tail > 0)) return;
    const most = "tail" in from ? from.tail : Number.POSITIVE_INFINITY;
    let recent: { worker: string; line: LogLine }[] = [];
    for (const worker of await this.#present()) {
      if (gone.aborted) return;
      try {
        for await (const lines of await this.#open(worker, this.#startOf(worker), true, gone)) {
          this.#starts.set(worker, { after: lines.at(-1)! });
          recent.push(...lines.map((line) => ({ worker, line })));
          if (most === Number.POSITIVE_INFINITY) {
            yield { worker, lines };
            recent = [];
          }
        }
      } catch (error) {
        const lines = this.#unreadable(error);
        if (lines.length > 0) yield { worker, lines };
      }
      recent = recent.sort((a, b) => a.line.ts - b.line.ts).slice(-most);
      if (!this.#starts.has(worker)) this.#starts.set(worker, { after: { ts: 0, sequence: 0 } });
    }
    for (const { worker, lines } of runsOf(recent)) yield { worker, lines };
  }

  async #lookAgain(): Promise<void> {
    try {
      while (!this.#isOver) {
        await this.#look();
        this.#hasLooked = true;
        await pause(this.#parts.clock, LOOK_MS, this.#over.signal);
      }
    } catch (error) {
      this.#end({ error });
    }
  }

  async #look(): Promise<void> {
    const present = await this.#present();
    if (this.#isOver) return;
    const now = this.#parts.clock.monotonic();
    for (const worker of present) this.#join(worker, now);
    const isPresent = new Set(present);
    for (const [worker, followed] of this.#followed) {
      followed.missedAt = isPresent.has(worker) ? undefined : (followed.missedAt ?? now);
      if (followed.missedAt !== undefined && now - followed.missedAt >= LEAVE_AFTER_MS) this.#leave(worker);
    }
  }

  /** The workers to follow: those on record, and at first those that have ended and whose lines the reader may want. */
  async #present(): Promise<string[]> {
    const known = await this.#parts.workers();
    if (!known) this.#end();
    if (!known) return [];
    const all = [...new Set([...known, ...(this.#hasLooked ? [] : await this.#past())])];
    if (all.length > MOST_WORKERS && !this.#hasToldMost) {
      this.#hasToldMost = true;
      const line = this.#systemLine(`${MOST_WORKERS} of ${all.length} workers are followed at once`);
      this.#waiting.push({ worker: undefined, lines: [line], taken: () => undefined });
      this.#wake?.();
    }
    return all.slice(0, MOST_WORKERS);
  }

  /** A reader that comes back wants the rest of what it has seen. Another one wants the newest lines, whoever wrote them. */
  async #past(): Promise<string[]> {
    const { from } = this.#parts.query;
    if ("seen" in from) return [...from.seen.sequences.keys()];
    return "tail" in from && from.tail === 0 ? [] : this.#parts.kept(MOST_KEPT);
  }

  #join(worker: string, now: number): void {
    const before = this.#followed.get(worker);
    if (before && (before.retryAt === undefined || now < before.retryAt)) return;
    const followed: Followed = { stop: new AbortController() };
    this.#followed.set(worker, followed);
    this.#pump(worker, followed).catch((error) => this.#end({ error }));
  }

  #leave(worker: string): void {
    this.#followed.get(worker)?.stop.abort();
    this.#followed.delete(worker);
    this.#starts.delete(worker);
  }

  async #pump(worker: string, followed: Followed): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = followed.stop;
    try {
      for await (const lines of await this.#open(worker, this.#startOf(worker), false, signal)) {
        await this.#hand(worker, lines);
        this.#starts.set(worker, { after: lines.at(-1)! });
        if (signal.aborted) return;
      }
    } catch (error) {
      if (!signal.aborted) await this.#hand(worker, this.#unreadable(error));
    }
    followed.retryAt = clock.monotonic() + RETRY_MS;
  }

  #open(worker: string, from: From, endsNow: boolean, gone: AbortSignal): Promise<AsyncIterable<LogLine[]>> {
    const { source } = this.#parts.query;
    return this.#parts.follow(worker, { from, ...(source && { source }), ...(endsNow && { endsNow }) }, gone);
  }

  /** A worker that came later is read from its first line, since all of it is new. */
  #startOf(worker: string): From {
    const { from } = this.#parts.query;
    const known = this.#starts.get(worker);
    if (known) return known;
    if (!("seen" in from)) return "since" in from || !this.#hasLooked ? from : { since: 0 };
    const { ts, sequences } = from.seen;
    const sequence = sequences.get(worker);
    return { after: sequence === undefined ? { ts: ts - DELAY_MS } : { ts, sequence } };
  }

  /** Says that a worker's log cannot be read now. A log that no longer exists is no news. */
  #unreadable(error: unknown): LogLine[] {
    if (!isProblem(error)) throw error;
    return error.code === "not-found" ? [] : [this.#systemLine(`its log cannot be read now: ${error.detail}`)];
  }

  /** A line without a sequence of its own, which no reader goes on behind. */
  #systemLine(line: string): LogLine {
    return { source: "system", ts: this.#parts.clock.now(), sequence: 0, line };
  }

  /** Resolves when the reader has taken the lines. */
  #hand(worker: string, lines: readonly LogLine[]): Promise<void> {
    if (this.#isOver || lines.length === 0) return Promise.resolve();
    return new Promise((taken) => {
      this.#waiting.push({ worker, lines, taken });
      this.#wake?.();
    });
  }
}

/** Puts neighbouring lines of the same worker together. */
function runsOf(lines: readonly { worker: string; line: LogLine }[]): { worker: string; lines: LogLine[] }[] {
  const runs: { worker: string; lines: LogLine[] }[] = [];
  for (const { worker, line } of lines) {
    const last = runs.at(-1);
    if (last?.worker === worker) last.lines.push(line);
    else runs.push({ worker, lines: [line] });
  }
  return runs;
}
