/** Removes what an owner such as an endpoint leaves elsewhere: named removers run in order, and resume after any crash. */
import type { Clock } from "../kernel/clock.ts";
import type { Kept } from "../kernel/document.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store, Write } from "../ports/store/store.ts";

/** Things that own data outside of their own record. The store itself removes the records of an account. */
export type Owner = "account" | "cluster" | "endpoint";

export interface Remover {
  what: string;
  /** The kinds of records that this remover removes. */
  kinds: readonly string[];
  /** Must be safe to repeat: after a crash all removers of an owner run again. */
  remove(id: string): Promise<void>;
}

/** Stands for a removed owner under the same id, until everything that it left elsewhere is removed too. */
type Mark = Record<never, never>;

const endpointMarks: Kept<Mark> = { kind: "removed-endpoint", v: 1 };
const clusterMarks: Kept<Mark> = { kind: "removed-cluster", v: 1 };

/** Marks belong to no account, since they outlive the account of their owner. */
const EVERYONE = "*";

/** Owners whose removal continues after a crash. The removal of an account has to be asked for again. */
type MarkedOwner = Exclude<Owner, "account">;

export class Removals {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #marks: Record<MarkedOwner, Collection<Mark>>;
  readonly #removers = new Map<Owner, readonly Remover[]>();

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#marks = { cluster: new Collection(store, clusterMarks), endpoint: new Collection(store, endpointMarks) };
  }

  async prepare(): Promise<void> {
    for (const marks of Object.values(this.#marks)) await marks.prepare();
  }

  /** Sets the removers for what an owner leaves elsewhere, in the order they run. */
  register(owner: Owner, removers: readonly Remover[]): void {
    this.#removers.set(owner, removers);
  }

  /** Commit this write together with the removal of the owner's record. */
  marking(owner: MarkedOwner, id: string): Write {
    return this.#marks[owner].inserting({ id, account: EVERYONE, createdAt: this.#clock.now(), doc: {} });
  }

  /** Removes everything that an owner left elsewhere. */
  async remove(owner: Owner, id: string): Promise<void> {
    const removers = this.#removers.get(owner);
    // Without removers everything would stay forever, so this must not count as done.
    if (!removers) throw new Error(`nothing is registered that removes what an ${owner} leaves`);
    for (const { remove } of removers) await remove(id);
  }

  /** Like `remove`, for a marked owner. The mark is removed last. */
  async finish(owner: MarkedOwner, id: string): Promise<void> {
    await this.remove(owner, id);
    // The removed records may have held environment variables of containers, so their traces are erased too.
    await this.#store.scrub();
    await this.#marks[owner].removeIfThere(id);
  }

  /** Finishes the removals that a crash or another process left half done. */
  async finishAll(): Promise<void> {
    for (const [owner, marks] of Object.entries(this.#marks) as [MarkedOwner, Collection<Mark>][])
      for await (const { id } of marks.all()) await this.finish(owner, id);
  }

  /** Whether something of a removed owner may still exist. */
  async areLeft(): Promise<boolean> {
    const left = await Promise.all(Object.values(this.#marks).map((marks) => marks.list({ limit: 1 })));
    return left.some((found) => found.length > 0);
  }
}
