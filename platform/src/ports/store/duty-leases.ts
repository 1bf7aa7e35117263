/** Which of several nodes does a duty. A node that leaves gives its duties away at once; those of one that dies are free when they run out. */
import { resourceId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import type { Store } from "./store.ts";

/**
 * Most duties renew their lease once a second, so one is lost only after a pause of five seconds: of the process, of its database, or by
 * clocks that differ by as much. Then two nodes may do the duty at once for a moment. That is safe: what they write is refused if it rests
 * on something that the other has changed. The simulation has clocks that differ by 20 s and processes that freeze for longer.
 */
const LEASE_MS = 5000;

interface Parts {
  store: Pick<Store, "lease" | "release">;
  random: Random;
  /** No other process serves the same store. */
  alone: boolean;
}

/** Tells whether this node does the duty now. Two nodes that do it at once are safe and only waste work. */
export type Mine = (now: number) => Promise<boolean>;

export class DutyLeases {
  readonly #parts: Parts;
  #holder = "";
  /** The duties that this node may do. */
  readonly #names = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A single process need not ask. */
  of(name: string, leaseMs = LEASE_MS): Mine | undefined {
    const { store, random, alone } = this.#parts;
    if (alone) return undefined;
    this.#holder ||= resourceId(random);
    const holder = this.#holder;
    this.#names.add(name);
    return async (now) =>
      this.#names.has(name) && (await store.lease({ name, holder, now, until: now + leaseMs })) !== undefined;
  }

  /** Gives these duties away for good, or all of them. Call it when nothing of them is under way any more. */
  async giveAway(names: readonly string[] = [...this.#names]): Promise<void> {
    const own = names.filter((name) => this.#names.delete(name));
    await Promise.all(own.map((name) => this.#parts.store.release(name, this.#holder)));
  }
}
