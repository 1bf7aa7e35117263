/** A store around another one: it passes everything through, and subclasses add to that. */
import type { Counting, Lease, Listing, Store, StoredRecord, UniqueKey, Write } from "./store.ts";

export class StoreAround implements Store {
  protected readonly inner: Store;

  constructor(inner: Store) {
    this.inner = inner;
  }

  commit(writes: Write[]): Promise<StoredRecord[]> {
    return this.inner.commit(writes);
  }

  get(kind: string, id: string): Promise<StoredRecord | undefined> {
    return this.inner.get(kind, id);
  }

  find(kind: string, key: UniqueKey): Promise<StoredRecord | undefined> {
    return this.inner.find(kind, key);
  }

  list(listing: Listing): Promise<StoredRecord[]> {
    return this.inner.list(listing);
  }

  count(counting: Counting): Promise<number> {
    return this.inner.count(counting);
  }

  scrub(): Promise<boolean> {
    return this.inner.scrub();
  }

  stamp(kind: string): number | undefined {
    return this.inner.stamp(kind);
  }

  removeAccount(account: string): Promise<void> {
    return this.inner.removeAccount(account);
  }

  lease(ask: Lease): Promise<number | undefined> {
    return this.inner.lease(ask);
  }

  release(name: string, holder: string): Promise<void> {
    return this.inner.release(name, holder);
  }

  removeLease(name: string, now: number): Promise<void> {
    return this.inner.removeLease(name, now);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.inner[Symbol.asyncDispose]();
  }
}
