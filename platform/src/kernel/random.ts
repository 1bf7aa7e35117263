/** Randomness for the whole program: real, or seeded so that a run can be repeated exactly. */
import { randomBytes, randomFillSync } from "node:crypto";

export interface Random {
  bytes(count: number): Uint8Array;
}

const POOL_BYTES = 8192;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** Bytes are drawn in bulk, since a system call for each id would cost more than the rest of making it. No byte is used twice. */
export const realRandom: Random = {
  bytes(count) {
    if (count > POOL_BYTES / 8) return randomBytes(count);
    if (used + count > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    const bytes = pool.slice(used, used + count);
    pool.fill(0, used, used + count);
    used += count;
    return bytes;
  },
};

/** A repeatable source (mulberry32). For tests and simulations only: anyone can predict it. */
export class SeededRandom implements Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Continues like a new source with this seed. */
  reseed(seed: number): void {
    this.#state = seed >>> 0;
  }

  /** Returns a number in [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.fraction() * limit);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.below(256));
  }
}
