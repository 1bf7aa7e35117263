/** Makes it safe for several nodes to take room at once: a record per machine or limited account changes with every taking. */
import type { Kept } from "../kernel/document.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import { Collection, type Item } from "../ports/store/collection.ts";
import type { Store, StoredRecord, Write } from "../ports/store/store.ts";

type Allotment = {
  /** How often room was taken from it. */
  taken: number;
};

const allotments: Kept<Allotment> = { kind: "allotment", v: 1 };

/** Machines belong to the installation, not to an account. */
const EVERYONE = "*";

/** A machine or an account that room is taken from, and the account that owns its record. */
export interface Source {
  id: string;
  account: string;
}

export const ofMachine = (machine: string): Source => ({ id: machine, account: EVERYONE });

/** No machine can have this name. The record is removed with its account. */
export const ofAccount = (account: string): Source => ({ id: `account ${account}`, account });

export class Allotments {
  readonly #collection: Collection<Allotment>;
  #known = new Map<string, Item<Allotment>>();

  constructor(store: Store) {
    this.#collection = new Collection(store, allotments);
  }

  /**
   * Must be called before the instances are read, and what it returns learned when they are known. Then the next commit detects room that
   * was taken meanwhile.
   */
  async read(): Promise<Item<Allotment>[]> {
    return Array.fromAsync(this.#collection.all());
  }

  /** Returns the right to take from what is free now, for a caller that counts it. */
  asCounted(): Taking {
    return new Taking(this.#collection, new Map(this.#known));
  }

  /**
   * These were read, or just written. The instances that took the room must be known at the same moment: whoever counts in between would
   * take it again.
   */
  learn(items: readonly Item<Allotment>[]): void {
    for (const item of items) note(this.#known, item);
  }

  /** Those among records that were just written. */
  among(written: readonly StoredRecord[]): Item<Allotment>[] {
    return itemsIn(this.#collection, written);
  }
}

/**
 * Takes room that was counted at one moment. If somebody else has taken from the same source since, the commit is refused, because the
 * counted room may be gone. Commits of the same `Taking` do not conflict. Giving room back needs none of this.
 */
export class Taking {
  readonly #collection: Collection<Allotment>;
  readonly #counted: Map<string, Item<Allotment>>;
  /** Commits run one after the other, each on the records that the previous one left. */
  readonly #turns = new OneAtATime();

  constructor(collection: Collection<Allotment>, counted: Map<string, Item<Allotment>>) {
    this.#collection = collection;
    this.#counted = counted;
  }

  /** Commits together with the records that say that room was taken from these sources. */
  commit(
    sources: readonly Source[],
    commit: (taking: Write[]) => Promise<StoredRecord[] | undefined>,
  ): Promise<StoredRecord[] | undefined> {
    return this.#turns.run(async () => {
      const each = new Map(sources.map((source) => [source.id, source]));
      const written = await commit([...each.values()].map((source) => this.#write(source)));
      for (const item of itemsIn(this.#collection, written ?? [])) note(this.#counted, item);
      return written;
    });
  }

  #write(source: Source): Write {
    const known = this.#counted.get(source.id);
    if (known) return this.#collection.patching(known, { taken: known.doc.taken + 1 });
    return this.#collection.inserting({ ...source, createdAt: 0, doc: { taken: 1 } });
  }
}

const itemsIn = (collection: Collection<Allotment>, written: readonly StoredRecord[]) =>
  written.filter(({ kind }) => kind === allotments.kind).map((record) => collection.read(record));

function note(known: Map<string, Item<Allotment>>, item: Item<Allotment>): void {
  if (item.version >= (known.get(item.id)?.version ?? 0)) known.set(item.id, item);
}
