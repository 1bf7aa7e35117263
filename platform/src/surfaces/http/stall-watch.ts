/** Notices bodies of which nothing more comes: one timer for all of them, and none for those that are here within their turn. */
import { type Clock, soon, type Timer } from "../../kernel/clock.ts";

/** A body on its way. */
export interface Arriving {
  /** When something of it came last. */
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

  /** Gives up what has stalled, and comes back when the next one could have. */
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
