/** A store that tells, after each commit through it, what was written: for those who show changes as they happen. */
import type { StoredRecord, Write } from "./store.ts";
import { StoreAround } from "./store-around.ts";

/** What became of one record. */
export interface Written {
  how: Write["do"];
  record: StoredRecord;
}

export class WatchedStore extends StoreAround {
  readonly #watchers = new Set<(written: readonly Written[]) => void>();

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

  override async commit(writes: Write[]): Promise<StoredRecord[]> {
    if (this.#watchers.size === 0) return this.inner.commit(writes);
    const records = await this.inner.commit(writes);
    const written = records.map((record, index) => ({ how: writes[index]!.do, record }));
    for (const heard of this.#watchers) heard(written);
    return records;
  }
}
