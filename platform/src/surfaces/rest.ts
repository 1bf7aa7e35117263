/** Pauses a client that sends messages faster than its allowance, until enough time has passed. */
import { Allowance, type Speed } from "../kernel/allowance.ts";
import type { Clock } from "../kernel/clock.ts";

export interface RestParts {
  clock: Clock;
  speed: Speed;
  /** Called when the server stops reading the client, and when it may read again. */
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

  /** Counts one message. Messages that arrive together are all taken, and make the pause longer. */
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
