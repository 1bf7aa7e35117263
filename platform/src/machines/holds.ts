/** Which of the machines that a node names it holds: several nodes may name a cluster, and one of them acts on it at a time. */
import type { Clock } from "../kernel/clock.ts";
import type { Store } from "../ports/store/store.ts";

/** Shorter than the time after which a node counts as silent: another one holds its machines before they do too. */
const HELD_MS = 10_000;
const RENEW_MS = 2000;

export interface HoldsParts {
  store: Store;
  clock: Clock;
  /** The node. */
  holder: string;
  /** The machines that it names. */
  named: readonly string[];
  /** No other node is there. */
  alone: boolean;
}

export class Holds {
  readonly #parts: HoldsParts;
  readonly #until = new Map<string, number>();
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(parts: HoldsParts) {
    this.#parts = parts;
  }

  /** A lease that could not be renewed is over by this node's clock too, before anybody else can have it. */
  has(machine: string): boolean {
    const { alone, named, clock } = this.#parts;
    if (alone) return named.includes(machine);
    return (this.#until.get(machine) ?? 0) > clock.now();
  }

  /** Asks for all of them, some seconds after the last time. Resolves with those that this node did not hold before. */
  async renew(now: number): Promise<string[]> {
    const { store, clock, holder, named, alone } = this.#parts;
    if (alone || clock.monotonic() - this.#askedAt < RENEW_MS) return [];
    this.#askedAt = clock.monotonic();
    const until = now + HELD_MS;
    const gained: string[] = [];
    for (const machine of named) {
      const wasHeld = this.has(machine);
      const fence = await store.lease({ name: nameOf(machine), holder, now, until });
      if (fence === undefined) this.#until.delete(machine);
      else this.#until.set(machine, until);
      if (fence !== undefined && !wasHeld) gained.push(machine);
    }
    return gained;
  }

  /** Others need not wait for the end of the lease. */
  async release(): Promise<void> {
    const { store, holder, named, alone } = this.#parts;
    if (alone) return;
    for (const machine of named) if (this.#until.delete(machine)) await store.release(nameOf(machine), holder);
  }
}

const nameOf = (machine: string) => `machine ${machine}`;
