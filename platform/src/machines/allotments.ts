/** What makes room safe to take for several at once: each machine, and each account that is bounded, has a record that moves on with every commit that takes of it. */
import type { Kept } from "../kernel/document.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import { Collection, type Item } from "../ports/store/collection.ts";
import type { Store, StoredRecord, Write } from "../ports/store/store.ts";

type Allotment = {
  /** How often room was taken there. */
  taken: number;
};

const allotments: Kept<Allotment> = { kind: "allotment", v: 1 };

/** Machines belong to the installation, not to an account. */
const EVERYONE = "*";

/** From what is taken, and whose it is. */
export interface Source {
  id: string;
  account: string;
}

export const ofMachine = (machine: string): Source => ({ id: machine, account: EVERYONE });

/** No machine has such a name. It goes with its account. */
export const ofAccount = (account: string): Source => ({ id: `account ${account}`, account });

export class Allotments {
  readonly #collection: Collection<Allotment>;
  #known = new Map<string, Item<Allotment>>();

  constructor(store: Store) {
    this.#collection = new Collection(store, allotments);
  }

  /** To be read before the instances: what is taken meanwhile is then found out by the next commit. */
  async read(): Promise<void> {
    for await (const item of this.#collection.all()) note(this.#known, item);
  }

  /** For one who counts what is free now, and takes from that. */
  asCounted(): Taking {
    return new Taking(this.#collection, new Map(this.#known));
  }

  /** From what was written just now. */
  learn(written: readonly StoredRecord[]): void {
    for (const item of itemsIn(this.#collection, written)) note(this.#known, item);
  }
}

/**
 * Takes room that was counted at one moment. A commit after somebody else took from the same source is refused, since what was
 * counted may be another's by now; one's own do not stand in each other's way. To give room back needs none of this.
 */
export class Taking {
  readonly #collection: Collection<Allotment>;
  readonly #counted: Map<string, Item<Allotment>>;
  /** Each on what the one before has left. */
  readonly #turns = new OneAtATime();

  constructor(collection: Collection<Allotment>, counted: Map<string, Item<Allotment>>) {
    this.#collection = collection;
    this.#counted = counted;
  }

  /** Commits with what says that something was taken from these. */
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
