/** A store that tells, after each commit through it, what was written: for those who show changes as they happen. */
import type { Counting, Lease, Listing, Store, StoredRecord, UniqueKey, Write } from "./store.ts";

/** What became of one record. */
export interface Written {
  how: Write["do"];
  record: StoredRecord;
}

export class WatchedStore implements Store {
  readonly #inner: Store;
  readonly #watchers = new Set<(written: readonly Written[]) => void>();

  constructor(inner: Store) {
    this.#inner = inner;
  }

  /** `heard` must not throw, and is called once the commit is durable. Returns how to stop. */
  watch(heard: (written: readonly Written[]) => void): () => void {
    this.#watchers.add(heard);
    return () => {
      this.#watchers.delete(heard);
    };
  }

  /** Whether anybody watches. */
  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  async commit(writes: Write[]): Promise<StoredRecord[]> {
    if (this.#watchers.size === 0) return this.#inner.commit(writes);
    const records = await this.#inner.commit(writes);
    const written = records.map((record, index) => ({ how: writes[index]!.do, record }));
    for (const heard of this.#watchers) heard(written);
    return records;
  }

  get(kind: string, id: string): Promise<StoredRecord | undefined> {
    return this.#inner.get(kind, id);
  }

  find(kind: string, key: UniqueKey): Promise<StoredRecord | undefined> {
    return this.#inner.find(kind, key);
  }

  list(listing: Listing): Promise<StoredRecord[]> {
    return this.#inner.list(listing);
  }

  count(counting: Counting): Promise<number> {
    return this.#inner.count(counting);
  }

  scrub(): Promise<void> {
    return this.#inner.scrub();
  }

  removeAccount(account: string): Promise<void> {
    return this.#inner.removeAccount(account);
  }

  lease(ask: Lease): Promise<number | undefined> {
    return this.#inner.lease(ask);
  }

  release(name: string, holder: string): Promise<void> {
    return this.#inner.release(name, holder);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#inner[Symbol.asyncDispose]();
  }
}
