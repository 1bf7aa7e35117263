/** Removal of an owner, such as an endpoint, with all that is kept of it elsewhere: named removers in order, begun durably and ended after any crash. */
import type { Clock } from "../kernel/clock.ts";
import type { Kept } from "../kernel/document.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store, Write } from "../ports/store/store.ts";

/** What owns something that its own record does not hold. Records of an account go with it by the store. */
export type Owner = "account" | "cluster" | "endpoint";

export interface Remover {
  what: string;
  /** The kinds of records that go by it. */
  kinds: readonly string[];
  /** Safe to repeat: after a crash all removers of an owner are asked again. */
  remove(id: string): Promise<void>;
}

/** An owner that is gone, under its own id, until everything that it left elsewhere is gone too. */
type Mark = Record<never, never>;

const endpointMarks: Kept<Mark> = { kind: "removed-endpoint", v: 1 };
const clusterMarks: Kept<Mark> = { kind: "removed-cluster", v: 1 };

/** Marks belong to no account: they outlive the one whose owner they are about. */
const EVERYONE = "*";

/** An owner whose removal may be half done when a process ends. An account's is done again by whoever asked for it. */
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

  /** Says how everything that an owner leaves elsewhere is removed, in this order. */
  register(owner: Owner, removers: readonly Remover[]): void {
    this.#removers.set(owner, removers);
  }

  /** To be committed with the removal of the owner's own record. */
  marking(owner: MarkedOwner, id: string): Write {
    return this.#marks[owner].inserting({ id, account: EVERYONE, createdAt: this.#clock.now(), doc: {} });
  }

  /** Removes what is kept of an owner elsewhere. */
  async remove(owner: Owner, id: string): Promise<void> {
    const removers = this.#removers.get(owner);
    // To end a removal without removers would leave everything where it is, for good.
    if (!removers) throw new Error(`nothing is registered that removes what an ${owner} leaves`);
    for (const { remove } of removers) await remove(id);
  }

  /** The same for one that was marked; the mark goes last. */
  async finish(owner: MarkedOwner, id: string): Promise<void> {
    await this.remove(owner, id);
    // What was removed may have named variables of containers.
    await this.#store.scrub();
    await this.#marks[owner].removeIfThere(id);
  }

  /** Ends what a crash or another process left half done. */
  async finishAll(): Promise<void> {
    for (const [owner, marks] of Object.entries(this.#marks) as [MarkedOwner, Collection<Mark>][])
      for await (const { id } of marks.all()) await this.finish(owner, id);
  }

  /** Whether something of an owner that is gone may still be there. */
  async areLeft(): Promise<boolean> {
    const left = await Promise.all(Object.values(this.#marks).map((marks) => marks.list({ limit: 1 })));
    return left.some((found) => found.length > 0);
  }
}
