/** Writes on the calling thread what is done in a moment, and leaves everything else to the writer's thread. */
import { lull } from "../../kernel/clock.ts";
import { BatchRunner, type Command, type Flushed, type Flusher, openDatabase, type Program } from "./writer.ts";

/** Where a flush usually takes longer, it holds up everybody else for too long. */
const SLOW_MS = 2;
/** How much the last flush counts in what is usual, and the most that it counts as: one that happened to be slow is soon made up for. */
const WEIGHT = 0.1;
const MOST_MS = 10;
/** A slow disk is left to the thread for so many writes before it is tried again. */
const RESPITE = 256;
/** After so many in a row one goes to the thread, which also moves the log into the file: that takes longer than a moment. */
const LONGEST_ROW = 64;

export interface NearParts {
  /** Where everything goes that is not done in a moment. */
  thread: Flusher;
  file: string;
  program: Program;
  clock: { monotonic(): number };
  /** Whether a batch is so little that a quick disk writes it in a moment. */
  isBrief(batch: readonly Command[]): boolean;
}

/**
 * On a disk that flushes in a fraction of a millisecond, the way to the thread and back costs more than the write. How long it
 * takes is learned from the flushes themselves: a slow disk is soon left to the thread, and tried again now and then.
 */
export class NearFlusher implements Flusher {
  readonly #thread: Flusher;
  readonly #near: BatchRunner;
  readonly #clock: NearParts["clock"];
  readonly #isBrief: NearParts["isBrief"];
  #inRow = 0;
  /** How many writes are still left to the thread. */
  #respite = 0;
  #usualMs = 0;

  constructor({ thread, file, program, clock, isBrief }: NearParts) {
    const db = openDatabase(file);
    this.#near = new BatchRunner(file, program, db);
    // Waiting for a lock, and moving the log into the file, is the thread's part.
    db.exec("PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0");
    this.#thread = thread;
    this.#clock = clock;
    this.#isBrief = isBrief;
  }

  /** All that is ready shares a write, since everybody stands still for it. */
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
    // Nothing of it was written. Somebody else may have the file: the thread can wait for it, or say what is wrong.
    return "failed" in flushed ? this.#thread.flush(batch) : flushed;
  }

  checkpoint(): Promise<boolean> {
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
    return belongs;
  }

  #learn(tookMs: number): void {
    this.#usualMs += (Math.min(tookMs, MOST_MS) - this.#usualMs) * WEIGHT;
    if (this.#usualMs <= SLOW_MS) return;
    this.#usualMs = 0;
    this.#respite = RESPITE;
  }
}
