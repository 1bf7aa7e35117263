/** The store that all nodes share. It has the atomicity of PostgreSQL, and tells the rules about every commit. */
import { MemoryStore } from "../../../src/ports/store/memory-store.ts";
import type { Lease, StoredRecord, Write } from "../../../src/ports/store/store.ts";

export interface Watching {
  committed(writes: readonly Write[], written: readonly StoredRecord[]): void;
  leased(ask: Lease): void;
  released(name: string, holder: string): void;
}

export class SharedStore extends MemoryStore {
  readonly #watching: Watching;

  constructor(watching: Watching) {
    super();
    this.#watching = watching;
  }

  override async commit(writes: Write[]): Promise<StoredRecord[]> {
    const written = await super.commit(writes);
    this.#watching.committed(writes, written);
    return written;
  }

  override async lease(ask: Lease): Promise<number | undefined> {
    const fence = await super.lease(ask);
    if (fence !== undefined) this.#watching.leased(ask);
    return fence;
  }

  override async release(name: string, holder: string): Promise<void> {
    await super.release(name, holder);
    this.#watching.released(name, holder);
  }

  /** Like PostgreSQL, it cannot tell cheaply. */
  override stamp(): never {
    return undefined as never;
  }
}
