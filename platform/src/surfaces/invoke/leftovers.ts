/** What reading large bodies leaves in a thread: up to a hundred times their bytes as objects, which nobody would collect while it rests. */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";

/** So rarely that it costs little beside the reading. */
const COLLECT_AFTER_BYTES = 8 * MIB;
const REST_MS = 1000;

export class Leftovers {
  readonly #clock: Clock;
  readonly #collect: () => void;
  #bytes = 0;
  #rest: Timer | undefined;

  constructor(clock: Clock, collect: () => void) {
    this.#clock = clock;
    this.#collect = collect;
  }

  /** A body of so many bytes was read. */
  add(bytes: number): void {
    this.#rest?.cancel();
    this.#bytes += bytes;
    if (this.#bytes >= COLLECT_AFTER_BYTES) this.#clear();
    else this.#rest = this.#clock.after(REST_MS, () => this.#clear());
  }

  #clear(): void {
    this.#bytes = 0;
    this.#collect();
  }
}
