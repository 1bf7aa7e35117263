/** Takes text that was removed or replaced out of the write-ahead log, where it would stay readable until overwritten. */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";

/** Removals that come close together share one run, and one that was put off is tried again. */
const SOON_MS = 1_000;

export class Scrubber {
  readonly #empty: () => Promise<boolean>;
  readonly #clock: Pick<Clock, "after">;
  #timer: Timer | undefined;
  #closed = false;

  /** `empty` empties the log; false when somebody still reads what is in it. */
  constructor(empty: () => Promise<boolean>, clock: Pick<Clock, "after">) {
    this.#empty = empty;
    this.#clock = clock;
  }

  soon(): void {
    if (!this.#closed) this.#timer ??= this.#clock.after(SOON_MS, () => floating(this.now(), () => {}));
  }

  /** Resolves after one try; as long as a try fails, the next comes by itself. */
  async now(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    // A writer that is gone has told its callers, and the next start looks again.
    if (!(await this.#empty().catch(() => false))) this.soon();
  }

  async close(): Promise<void> {
    const isDue = this.#timer !== undefined;
    this.#closed = true;
    if (isDue) await this.now();
  }
}
