/** Machines that the operator drains, until the operator takes that back. */
import type { Clock } from "../kernel/clock.ts";
import type { Kept } from "../kernel/document.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import { EVERYONE } from "./nodes.ts";

type Drain = { since: number };

/** This is separate from the machine's record, because the machine's node overwrites that with what it finds. */
const drains: Kept<Drain> = { kind: "machine-drain", v: 1 };

/** Writes of this process are visible here at once, those of another within this time. */
const REMEMBERED_MS = 1000;

export class Drains {
  readonly #drains: Collection<Drain>;
  readonly #clock: Clock;
  #known: ReadonlyMap<string, number> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#drains = new Collection(store, drains);
    this.#clock = clock;
  }

  prepare(): Promise<void> {
    return this.#drains.prepare();
  }

  /** Since when each machine has been drained, by its id. */
  async all(): Promise<ReadonlyMap<string, number>> {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#readAt < REMEMBERED_MS) return this.#known;
    const found = new Map<string, number>();
    for await (const { id, doc } of this.#drains.all()) found.set(id, doc.since);
    this.#known = found;
    this.#readAt = nowMs;
    return found;
  }

  /** A machine that is already being drained keeps its start time. */
  async begin(machine: string): Promise<void> {
    const now = this.#clock.now();
    if (!(await this.#drains.get(machine)))
      await this.#drains.put({ id: machine, account: EVERYONE, createdAt: now, doc: { since: now } });
    this.#forget();
  }

  async end(machine: string): Promise<void> {
    await this.#drains.removeIfThere(machine);
    this.#forget();
  }

  #forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }
}
