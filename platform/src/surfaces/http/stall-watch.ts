/** Notices bodies that stop arriving, with one timer for all. A body that arrives within its turn needs no timer. */
import { type Clock, soon, type Timer } from "../../kernel/clock.ts";

/** A body that is arriving. */
export interface Arriving {
  /** When its last bytes arrived. */
  heardAt: number;
  /** Where its watch has it; undefined while none has. */
  place?: number | undefined;
  stalled(): void;
}

export class StallWatch {
  readonly #clock: Clock;
  readonly #longestMs: number;
  /**
   * Each body knows its place, and the last one takes the place of one that leaves. A `Set` would make a new table every hundred requests,
   * to which the old one leads, and garbage that grew old would keep them all, with their requests.
   */
  readonly #arriving: Arriving[] = [];
  #planned = false;
  #timer: Timer | undefined;

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  add(body: Arriving): void {
    if (body.place === undefined) body.place = this.#arriving.push(body) - 1;
    if (this.#planned || this.#timer) return;
    this.#planned = true;
    soon(() => {
      this.#planned = false;
      this.#look();
    });
  }

  delete(body: Arriving): void {
    this.#remove(body);
    if (this.#arriving.length > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #remove(body: Arriving): void {
    const { place } = body;
    if (place === undefined) return;
    body.place = undefined;
    const last = this.#arriving.pop()!;
    if (last === body) return;
    this.#arriving[place] = last;
    last.place = place;
  }

  /** Gives up the bodies that have stalled, and looks again when the next one could have stalled. */
  #look(): void {
    this.#timer?.cancel();
    const now = this.#clock.monotonic();
    const leftMs = (body: Arriving) => body.heardAt + this.#longestMs - now;
    for (const body of this.#arriving.filter((one) => leftMs(one) <= 0)) {
      // Another one that stalled may have ended it.
      if (body.place === undefined) continue;
      this.#remove(body);
      body.stalled();
    }
    const soonestMs = this.#arriving.reduce((soonest, body) => Math.min(soonest, leftMs(body)), this.#longestMs);
    this.#timer = this.#arriving.length > 0 ? this.#clock.after(soonestMs, () => this.#look()) : undefined;
  }
}
