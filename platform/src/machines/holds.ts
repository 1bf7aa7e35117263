/** Which of its named machines a node holds. Several nodes may name the same cluster, but only one of them acts on it at a time. */
import type { Clock } from "../kernel/clock.ts";
import type { Store } from "../ports/store/store.ts";

/**
 * This is shorter than the time after which a node counts as silent, so another node holds its machines before they count as silent too.
 */
const HELD_MS = 10_000;
const RENEW_MS = 2000;

export interface HoldsParts {
  store: Store;
  clock: Clock;
  /** The id of this node. */
  holder: string;
  /** The machines that this node names. */
  named: readonly string[];
  /** There is no other node. */
  alone: boolean;
}

export class Holds {
  readonly #parts: HoldsParts;
  /** When each lease ends, by this node's wall clock and by its monotonic clock. */
  readonly #held = new Map<string, { until: number; untilMs: number }>();
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: HoldsParts) {
    this.#parts = parts;
  }

  /**
   * A lease that could not be renewed ends by this node's clock as well, before another node can get it. It ends by whichever clock is
   * first: the wall clock may be set back, and the monotonic one stands still while the machine sleeps.
   */
  has(machine: string): boolean {
    const { alone, named, clock } = this.#parts;
    if (alone) return named.includes(machine);
    const held = this.#held.get(machine);
    return held !== undefined && held.until > clock.now() && held.untilMs > clock.monotonic();
  }

  /** Asks for all leases again once some seconds have passed. Resolves with the machines that this node did not hold before. */
  async renew(now: number): Promise<string[]> {
    const { store, clock, holder, named, alone } = this.#parts;
    if (alone || clock.monotonic() - this.#askedAt < RENEW_MS) return [];
    this.#askedAt = clock.monotonic();
    const [until, untilMs] = [now + HELD_MS, this.#askedAt + HELD_MS];
    const gained: string[] = [];
    for (const machine of named) {
      const wasHeld = this.has(machine);
      const fence = await store.lease({ name: leaseOf(machine), holder, now, until });
      if (fence === undefined) this.#held.delete(machine);
      else this.#held.set(machine, { until, untilMs });
      if (fence !== undefined && !wasHeld) gained.push(machine);
    }
    return gained;
  }

  /** Releases the leases, so that other nodes need not wait for their end. */
  async release(): Promise<void> {
    const { store, holder, named, alone } = this.#parts;
    if (alone) return;
    for (const machine of named) if (this.#held.delete(machine)) await store.release(leaseOf(machine), holder);
  }
}

/** The name of a machine's lease. */
export const leaseOf = (machine: string) => `machine ${machine}`;
