/** The clock of the emulator: real time that a caller can move ahead, with everything that falls due meanwhile. */
import { type Clock, realClock, stay, type Timer, turn } from "./clock.ts";

/** The first leaps are short, so that what is in motion ends at its own time. Later ones grow, since little happens then. */
const FIRST_LEAPS = 20;
const FIRST_LEAP_MS = 1000;
const GROWTH = 1.25;
const LONGEST_LEAP_MS = 12 * 3_600_000;
/** Duties write to the disk. They get this much real time after each leap. */
const SETTLE_MS = 2;

interface Pending {
  /** By this clock's `monotonic()`. */
  at: number;
  order: number;
  action: () => void;
  real: Timer;
}

export class EmulatedClock implements Clock {
  #aheadMs: number;
  #order = 0;
  /** While a leap prepares its timers, none runs by itself: it could see those as silent who are about to be heard. */
  #isLeaping = false;
  #moving: Promise<void> = Promise.resolve();
  readonly #pending = new Set<Pending>();
  readonly #listeners = new Set<() => Promise<unknown>>();

  /** `startMs` is the time that it shows at first; by default the real one. */
  constructor(startMs = realClock.now()) {
    this.#aheadMs = startMs - realClock.now();
  }

  now(): number {
    return realClock.now() + this.#aheadMs;
  }

  monotonic(): number {
    return realClock.monotonic() + this.#aheadMs;
  }

  after(delayMs: number, action: () => void): Timer {
    const at = this.monotonic() + Math.max(0, delayMs);
    const pending: Pending = { at, order: this.#order++, action, real: this.#arm(delayMs, () => pending) };
    this.#pending.add(pending);
    return {
      cancel: () => {
        this.#pending.delete(pending);
        pending.real.cancel();
      },
    };
  }

  /** Runs in each leap before the timers, for what must not seem silent after it. */
  beforeTimers(listener: () => Promise<unknown>): void {
    this.#listeners.add(listener);
  }

  /**
   * Moves time ahead. In each leap every timer that is due runs once, in order, so that a duty of every second does not run for each second of
   * a month. Calls are done one after another.
   */
  advance(ms: number): Promise<void> {
    const moved = this.#moving.then(() => this.#advance(ms));
    this.#moving = moved.catch(() => {});
    return moved;
  }

  async #advance(ms: number): Promise<void> {
    let leapMs = FIRST_LEAP_MS;
    for (let leftMs = ms, leaps = 0; leftMs > 0; leftMs -= leapMs, leaps++) {
      if (leaps >= FIRST_LEAPS) leapMs = Math.min(leapMs * GROWTH, LONGEST_LEAP_MS);
      leapMs = Math.min(leapMs, leftMs);
      await this.#leap(leapMs);
    }
  }

  async #leap(ms: number): Promise<void> {
    this.#isLeaping = true;
    this.#aheadMs += ms;
    await Promise.all([...this.#listeners].map((listener) => listener()));
    const due = [...this.#pending].filter(({ at }) => at <= this.monotonic());
    due.sort((one, other) => one.at - other.at || one.order - other.order);
    for (const pending of due) {
      if (!this.#pending.has(pending)) continue;
      pending.real.cancel();
      this.#run(pending);
      await turn();
    }
    this.#isLeaping = false;
    for (const pending of this.#pending) {
      pending.real.cancel();
      pending.real = this.#arm(pending.at - this.monotonic(), () => pending);
    }
    await stay(SETTLE_MS);
  }

  #arm(delayMs: number, of: () => Pending): Timer {
    return realClock.after(Math.max(0, delayMs), () => this.#isLeaping || this.#run(of()));
  }

  #run(pending: Pending): void {
    if (this.#pending.delete(pending)) pending.action();
  }
}
