/** Frees what parsing large bodies leaves in a thread: up to a hundred times their bytes, which an idle thread would keep. */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";

/** Collecting this rarely costs little compared with parsing. */
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

  /** Called after a body of this many bytes was parsed. */
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
