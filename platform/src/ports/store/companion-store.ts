/** A store whose commits, within a piece of work, take one more write along: what is to be written with a change, whoever makes the change. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { StoredRecord, Write } from "./store.ts";
import { StoreAround } from "./store-around.ts";

/** What goes along with these writes. */
export type Companion = (writes: readonly Write[]) => Write;

interface Work {
  companion: Companion;
  /** Under way with it; whoever commits meanwhile waits to hear whether it went. */
  taking?: Promise<unknown> | undefined;
  taken?: StoredRecord | undefined;
  isOver: boolean;
}

export class CompanionStore extends StoreAround {
  readonly #works = new AsyncLocalStorage<Work>();

  /**
   * Does the work. The first commit that it makes through this store, and that is not refused, takes the companion along: both are
   * written, or neither. `taken` is what was written so, if the work has committed anything by then. What the work leaves running
   * takes nothing once the work is over.
   */
  async accompany<T>(companion: Companion, work: (taken: () => StoredRecord | undefined) => Promise<T>): Promise<T> {
    const own: Work = { companion, isOver: false };
    try {
      return await this.#works.run(own, () => work(() => own.taken));
    } finally {
      own.isOver = true;
    }
  }

  override async commit(writes: Write[]): Promise<StoredRecord[]> {
    const work = this.#works.getStore();
    if (!work) return this.inner.commit(writes);
    while (work.taking) await work.taking;
    if (work.taken || work.isOver) return this.inner.commit(writes);
    const committed = this.inner.commit([...writes, work.companion(writes)]);
    work.taking = committed.then(
      () => undefined,
      () => undefined,
    );
    try {
      const written = await committed;
      work.taken = written.at(-1);
      return written.slice(0, -1);
    } finally {
      work.taking = undefined;
    }
  }
}
