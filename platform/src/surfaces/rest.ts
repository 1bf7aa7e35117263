/** A client that says more than is heard: it is not read until time has made up for what it said. */
import { Allowance, type Speed } from "../kernel/allowance.ts";
import type { Clock } from "../kernel/clock.ts";

export interface RestParts {
  clock: Clock;
  speed: Speed;
  /** Called when it is not to be read any more, and when it may be again. */
  pause: () => void;
  resume: () => void;
}

export class Rest {
  readonly #parts: RestParts;
  readonly #allowance: Allowance;
  #endsAtMs = Number.NEGATIVE_INFINITY;
  isResting = false;

  constructor(parts: RestParts) {
    this.#parts = parts;
    this.#allowance = new Allowance(parts.speed);
  }

  /** It said something. What comes together is all heard, and makes the rest longer. */
  heard(): void {
    const now = this.#parts.clock.monotonic();
    const waitMs = this.#allowance.spend(1, now);
    if (waitMs <= 0) return;
    this.#endsAtMs = now + waitMs;
    if (this.isResting) return;
    this.isResting = true;
    this.#parts.pause();
    this.#wait(waitMs);
  }

  #wait(waitMs: number): void {
    this.#parts.clock.after(waitMs, () => {
      const leftMs = this.#endsAtMs - this.#parts.clock.monotonic();
      if (leftMs > 0) return this.#wait(leftMs);
      this.isResting = false;
      this.#parts.resume();
    });
  }
}
