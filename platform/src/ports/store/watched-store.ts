/** A store that reports what each commit through it wrote, for parts that show changes as they happen. */
import type { StoredRecord, Write } from "./store.ts";
import { StoreAround } from "./store-around.ts";

/** What happened to one record. */
export interface Written {
  how: Write["do"];
  record: StoredRecord;
}

export class WatchedStore extends StoreAround {
  readonly #watchers = new Set<(written: readonly Written[]) => void>();

  /** Calls `heard`, which must not throw, after each commit is durable. Returns a function that stops this. */
  watch(heard: (written: readonly Written[]) => void): () => void {
    this.#watchers.add(heard);
    return () => {
      this.#watchers.delete(heard);
    };
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
}
