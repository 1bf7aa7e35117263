/** Clears removed or replaced text from the write-ahead log, where it would stay readable until it is overwritten. */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";

/** Removals within this time share one run, and a run that failed is tried again after it. */
const SOON_MS = 1_000;

export class Scrubber {
  readonly #empty: () => Promise<boolean>;
  readonly #clock: Pick<Clock, "after">;
  #timer: Timer | undefined;
  #closed = false;

  /** `empty` empties the log. It resolves to false when a reader still uses the log. */
  constructor(empty: () => Promise<boolean>, clock: Pick<Clock, "after">) {
    this.#empty = empty;
    this.#clock = clock;
  }

  soon(): void {
    if (!this.#closed) this.#timer ??= this.#clock.after(SOON_MS, () => floating(this.now(), () => {}));
  }

  /** Resolves after one try. While tries fail, further ones follow by themselves. */
  async now(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    // A dead writer has already told its callers, and the next start clears the log again.
    if (!(await this.#empty().catch(() => false))) this.soon();
  }

  async close(): Promise<void> {
    const isDue = this.#timer !== undefined;
    this.#closed = true;
    if (isDue) await this.now();
  }
}
