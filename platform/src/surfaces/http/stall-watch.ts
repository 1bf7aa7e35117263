/** Notices bodies that stop arriving, with one timer for all. A body that arrives within its turn needs no timer. */
import { type Clock, soon, type Timer } from "../../kernel/clock.ts";

/** A body that is arriving. */
export interface Arriving {
  /** When its last bytes arrived. */
  heardAt: number;
  stalled(): void;
}

export class StallWatch {
  readonly #clock: Clock;
  readonly #longestMs: number;
  readonly #arriving = new Set<Arriving>();
  #planned = false;
  #timer: Timer | undefined;

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  add(body: Arriving): void {
    this.#arriving.add(body);
    if (this.#planned || this.#timer) return;
    this.#planned = true;
    soon(() => {
      this.#planned = false;
      this.#look();
    });
  }

  delete(body: Arriving): void {
    this.#arriving.delete(body);
    if (this.#arriving.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Gives up the bodies that have stalled, and looks again when the next one could have stalled. */
  #look(): void {
    const now = this.#clock.monotonic();
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const body of this.#arriving) {
      const leftMs = body.heardAt + this.#longestMs - now;
      if (leftMs > 0) soonestMs = Math.min(soonestMs, leftMs);
      else {
        this.#arriving.delete(body);
        body.stalled();
      }
    }
    this.#timer = this.#arriving.size > 0 ? this.#clock.after(soonestMs, () => this.#look()) : undefined;
  }
}
