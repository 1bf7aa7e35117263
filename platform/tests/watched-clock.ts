/** A clock whose timers a test can wait for: when the server keeps someone waiting, it sets a timer. */
import { FakeClock, type Timer } from "../src/kernel/clock.ts";

interface Watch {
  delayMs: number;
  fits: (count: number) => boolean;
  resolve: () => void;
}

export class WatchedClock extends FakeClock {
  readonly #armed = new Map<number, number>();
  #watches: Watch[] = [];

  override after(delayMs: number, action: () => void): Timer {
    let pending = true;
    const end = () => {
      if (pending) this.#count(delayMs, -1);
      pending = false;
    };
    const timer = super.after(delayMs, () => {
      end();
      action();
    });
    this.#count(delayMs, 1);
    return {
      cancel: () => {
        end();
        timer.cancel();
      },
    };
  }

  /** Resolves once this many timers of this length wait. A held request has one. */
  armed(delayMs: number, count = 1): Promise<void> {
    return this.#when(delayMs, (armed) => armed >= count);
  }

  /** Resolves once no timer of this length waits any more. */
  disarmed(delayMs: number): Promise<void> {
    return this.#when(delayMs, (armed) => armed === 0);
  }

  #when(delayMs: number, fits: (count: number) => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#watches.push({ delayMs, fits, resolve });
      queueMicrotask(() => this.#look());
    });
  }

  #count(delayMs: number, by: number): void {
    this.#armed.set(delayMs, (this.#armed.get(delayMs) ?? 0) + by);
    // Looks later, since a timer that is postponed is cancelled and set again in one go.
    if (this.#watches.length > 0) queueMicrotask(() => this.#look());
  }

  #look(): void {
    const fitting = (watch: Watch) => watch.fits(this.#armed.get(watch.delayMs) ?? 0);
    const over = this.#watches.filter(fitting);
    this.#watches = this.#watches.filter((watch) => !over.includes(watch));
    for (const { resolve } of over) resolve();
  }
}
