/** What makes room safe to take for several at once: each machine has a record that moves on with every commit that takes room there. */
import type { Kept } from "../kernel/document.ts";
import { Collection, type Item } from "../ports/store/collection.ts";
import type { Store, StoredRecord, Write } from "../ports/store/store.ts";

type Allotment = {
  /** How often room was taken there. */
  taken: number;
};

const allotments: Kept<Allotment> = { kind: "allotment", v: 1 };

/** Machines belong to the installation, not to an account. */
const EVERYONE = "*";

/**
 * A commit made on an older one is refused, since the room that was counted may be another's by now. To give room back needs none of
 * this.
 */
export class Allotments {
  readonly #collection: Collection<Allotment>;
  readonly #known = new Map<string, Item<Allotment>>();

  constructor(store: Store) {
    this.#collection = new Collection(store, allotments);
  }

  async read(): Promise<void> {
    for await (const item of this.#collection.all()) this.#note(item);
  }

  /** To be written with what takes room on this machine. */
  taking(machine: string): Write {
    const known = this.#known.get(machine);
    if (known) return this.#collection.patching(known, { taken: known.doc.taken + 1 });
    return this.#collection.inserting({ id: machine, account: EVERYONE, createdAt: 0, doc: { taken: 1 } });
  }

  /** From what was written just now. */
  learn(written: readonly StoredRecord[]): void {
    for (const record of written) if (record.kind === allotments.kind) this.#note(this.#collection.read(record));
  }

  #note(item: Item<Allotment>): void {
    if (item.version >= (this.#known.get(item.id)?.version ?? 0)) this.#known.set(item.id, item);
  }
}
