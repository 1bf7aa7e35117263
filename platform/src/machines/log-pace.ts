/** How fast what programs write is taken up: who writes without end costs the others nothing. */

import type { Clock } from "../kernel/clock.ts";
import { pause } from "../kernel/wait.ts";

/** What a line costs beside its text. */
const LINE_COST = 64;

interface Speed {
  /** Characters a second, with the cost of their lines. */
  perSecond: number;
  /** What may come at once after a while of little. */
  atOnce: number;
}

const OF_ONE: Speed = { perSecond: 2_000_000, atOnce: 8_000_000 };
const OF_ALL: Speed = { perSecond: 8_000_000, atOnce: 32_000_000 };

/** Waits after lines until the next may come. */
export type Pace = (lines: readonly string[], signal: AbortSignal) => Promise<void>;

export class LogPace {
  readonly #clock: Clock;
  readonly #all: Allowance;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#all = new Allowance(OF_ALL);
  }

  ofOne(): Pace {
    const one = new Allowance(OF_ONE);
    return async (lines, signal) => {
      const cost = lines.reduce((sum, { length }) => sum + length + LINE_COST, 0);
      const nowMs = this.#clock.monotonic();
      const waitMs = Math.max(one.spend(cost, nowMs), this.#all.spend(cost, nowMs));
      if (waitMs > 0) await pause(this.#clock, waitMs, signal);
    };
  }
}

/** What is spent is made up for by time. */
class Allowance {
  readonly #speed: Speed;
  /** When all that was spent is made up for. */
  #evenAtMs = Number.NEGATIVE_INFINITY;

  constructor(speed: Speed) {
    this.#speed = speed;
  }

  /** Milliseconds to wait before more is spent. */
  spend(cost: number, nowMs: number): number {
    const { perSecond, atOnce } = this.#speed;
    this.#evenAtMs = Math.max(this.#evenAtMs, nowMs) + (cost / perSecond) * 1000;
    return Math.max(0, this.#evenAtMs - nowMs - (atOnce / perSecond) * 1000);
  }
}
