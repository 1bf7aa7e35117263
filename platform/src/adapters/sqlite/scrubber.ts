/** Clears removed or replaced text from the write-ahead log, where it would stay readable until it is overwritten. */
import { type Clock, holding, sleep, type Timer } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import type { Emptying } from "./writer.ts";

/** Removals within this time share one run, and a run that failed is tried again after it. */
const SOON_MS = 1_000;
/** Between two tries others write. Each try itself waits a moment for those who use the log. */
const AGAIN_MS = 50;
/** Somebody who uses the log for longer than about 5 s holds it for long, such as a program that copies the file. */
const MOST_TRIES = 35;

export class Scrubber {
  readonly #empty: () => Promise<Emptying>;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #closed = false;

  /** `empty` tries once to empty the log. */
  constructor(empty: () => Promise<Emptying>, clock: Clock) {
    this.#empty = empty;
    this.#clock = clock;
  }

  soon(): void {
    if (!this.#closed) this.#timer ??= this.#clock.after(SOON_MS, () => floating(this.#run(1), () => {}));
  }

  /** Waits for those who use the log. Resolves to false when the log still has its content; further tries then follow by themselves. */
  now(): Promise<boolean> {
    return holding(this.#run(MOST_TRIES));
  }

  async close(): Promise<void> {
    const isDue = this.#timer !== undefined;
    this.#closed = true;
    if (isDue) await this.now();
  }

  async #run(tries: number): Promise<boolean> {
    this.#timer?.cancel();
    this.#timer = undefined;
    // A dead writer has already told its callers, and the next start clears the log again.
    const outcome = await this.#empty().catch(() => undefined);
    if (outcome === "emptied") return true;
    if (outcome === "in-use" && tries > 1) {
      await sleep(this.#clock, AGAIN_MS);
      return await this.#run(tries - 1);
    }
    this.soon();
    return false;
  }
}
