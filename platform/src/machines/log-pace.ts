/** Limits how fast program output is collected, so that a program that never stops writing does not slow down others. */

import { Allowance, type Speed } from "../kernel/allowance.ts";
import type { Clock } from "../kernel/clock.ts";
import { pause } from "../kernel/wait.ts";

/** The cost of a line in addition to its text. Every line is cut, stored, numbered and sent to readers, however short it is. */
const LINE_COST = 200;

/** Characters including the cost of their lines. This allows about 10,000 short lines or 2 MB of long lines a second. */
const OF_ONE: Speed = { perSecond: 2_000_000, atOnce: 4_000_000 };
const OF_ALL: Speed = { perSecond: 8_000_000, atOnce: 32_000_000 };

/** Waits after some lines until the next may be collected. */
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
