/** Writes quick batches on the calling thread, and leaves everything else to the writer's thread. */
import { lull } from "../../kernel/clock.ts";
import {
  BatchRunner,
  type Command,
  type Emptying,
  type Flushed,
  type Flusher,
  openDatabase,
  type Program,
} from "./writer.ts";

/** When flushes usually take longer than this, they block the event loop for too long. */
const SLOW_MS = 2;
/** The weight of the last flush in the average, and the most that it counts as, so that a single slow flush is soon made up for. */
const WEIGHT = 0.1;
const MOST_MS = 10;
/** A slow disk is left to the thread for this many writes before it is tried again. */
const RESPITE = 256;
/** After this many writes in a row one goes to the thread, which also moves the log into the file. That takes longer than a moment. */
const LONGEST_ROW = 64;
/** After this many writes the thread is started, so that it is there when it is needed. */
const PREPARE_AT = 16;

export interface NearParts {
  /** Takes every batch that is not quick. */
  thread: Flusher;
  file: string;
  program: Program;
  clock: { monotonic(): number };
  /** Whether a batch is so small that a fast disk writes it in a moment. */
  isBrief(batch: readonly Command[]): boolean;
}

/**
 * On a disk that flushes in a fraction of a millisecond, the way to the thread and back costs more than the write. The flushes themselves
 * show how long they take: a slow disk is soon left to the thread, and tried again now and then.
 */
export class NearFlusher implements Flusher {
  readonly #thread: Flusher;
  readonly #near: BatchRunner;
  readonly #clock: NearParts["clock"];
  readonly #isBrief: NearParts["isBrief"];
  #inRow = 0;
  /** How many further writes are left to the thread. */
  #respite = 0;
  #usualMs = 0;

  constructor({ thread, file, program, clock, isBrief }: NearParts) {
    const db = openDatabase(file);
    this.#near = new BatchRunner(file, program, db);
    // The thread waits for locks and moves the log into the file, so this connection does neither.
    db.exec("PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0");
    this.#thread = thread;
    this.#clock = clock;
    this.#isBrief = isBrief;
  }

  /** Everything that is ready shares a write, since the event loop stands still for it. */
  gathered(): Promise<void> {
    return lull();
  }

  async flush(batch: Command[]): Promise<Flushed> {
    if (!this.#belongsHere(batch)) return this.#thread.flush(batch);
    let committingMs: number | undefined;
    const flushed = this.#near.run(batch, () => {
      committingMs = this.#clock.monotonic();
    });
    if (committingMs !== undefined) this.#learn(this.#clock.monotonic() - committingMs);
    // Nothing was written. Another process may hold the file: the thread can wait for it, or report what is wrong.
    return "failed" in flushed ? this.#thread.flush(batch) : flushed;
  }

  checkpoint(): Promise<Emptying> {
    return this.#thread.checkpoint();
  }

  async close(): Promise<void> {
    this.#near.close();
    await this.#thread.close();
  }

  #belongsHere(batch: readonly Command[]): boolean {
    if (this.#respite > 0) {
      this.#respite--;
      return false;
    }
    const belongs = this.#inRow < LONGEST_ROW && this.#isBrief(batch);
    this.#inRow = belongs ? this.#inRow + 1 : 0;
    if (this.#inRow === PREPARE_AT) this.#thread.prepare?.();
    return belongs;
  }

  #learn(tookMs: number): void {
    this.#usualMs += (Math.min(tookMs, MOST_MS) - this.#usualMs) * WEIGHT;
    if (this.#usualMs <= SLOW_MS) return;
    this.#usualMs = 0;
    this.#respite = RESPITE;
  }
}
