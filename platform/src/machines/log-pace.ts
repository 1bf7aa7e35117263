/** How fast what programs write is taken up: who writes without end costs the others nothing. */

import { Allowance, type Speed } from "../kernel/allowance.ts";
import type { Clock } from "../kernel/clock.ts";
import { pause } from "../kernel/wait.ts";

/** What a line costs beside its text: it is cut, kept, numbered and told to readers, however short it is. */
const LINE_COST = 200;

/** Characters, with the cost of their lines: of short ones about 10,000 a second, of long ones 2 MB. */
const OF_ONE: Speed = { perSecond: 2_000_000, atOnce: 4_000_000 };
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
