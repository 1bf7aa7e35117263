/** A store that reports what each commit through it wrote and each list showed, for parts that show changes as they happen. */
import type { Listing, Store, StoredRecord, Write } from "./store.ts";
import { StoreAround } from "./store-around.ts";

/** What happened to one record. */
export interface Written {
  how: Write["do"];
  record: StoredRecord;
}

export class WatchedStore extends StoreAround {
  readonly #watchers = new Set<(written: readonly Written[]) => void>();
  readonly #listWatchers = new Set<(records: readonly StoredRecord[]) => void>();

  /** Calls `heard`, which must not throw, after each commit is durable. Returns a function that stops this. */
  watch(heard: (written: readonly Written[]) => void): () => void {
    this.#watchers.add(heard);
    return () => {
      this.#watchers.delete(heard);
    };
  }

  /** Calls `heard`, which must not throw, with the records of each list before they are answered. Returns a function that stops this. */
  watchLists(heard: (records: readonly StoredRecord[]) => void): () => void {
    this.#listWatchers.add(heard);
    return () => {
      this.#listWatchers.delete(heard);
    };
  }

  /** Reads that are not reported. */
  get unwatched(): Pick<Store, "list"> {
    return this.inner;
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  override async commit(writes: Write[]): Promise<StoredRecord[]> {
    if (this.#watchers.size === 0) return this.inner.commit(writes);
    const records = await this.inner.commit(writes);
    const written = records.map((record, index) => ({ how: writes[index]!.do, record }));
    for (const heard of this.#watchers) heard(written);
    return records;
  }

  override async list(listing: Listing): Promise<StoredRecord[]> {
    if (this.#listWatchers.size === 0) return this.inner.list(listing);
    const records = await this.inner.list(listing);
    for (const heard of this.#listWatchers) heard(records);
    return records;
  }
}
