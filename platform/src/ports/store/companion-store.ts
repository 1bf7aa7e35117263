/** A store that adds one more write, the companion, to the first commit of a piece of work, whichever code makes that commit. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { StoredRecord, Write } from "./store.ts";
import { StoreAround } from "./store-around.ts";

/** Makes the companion for these writes. */
export type Companion = (writes: readonly Write[]) => Write;

interface Work {
  companion: Companion;
  /** A commit with the companion that is under way. Other commits wait to learn whether it succeeded. */
  taking?: Promise<unknown> | undefined;
  taken?: StoredRecord | undefined;
  isOver: boolean;
}

export class CompanionStore extends StoreAround {
  readonly #works = new AsyncLocalStorage<Work>();

  /**
   * Does the work. The companion goes with the first commit through this store that is not refused: both are written, or neither. `taken`
   * returns the written companion, once the work has committed something. Anything that still runs after the work is over takes no
   * companion along. `finish` ends the work early: it waits for a commit with the companion that the work has left under way.
   */
  async accompany<T>(
    companion: Companion,
    work: (taken: () => StoredRecord | undefined, finish: () => Promise<StoredRecord | undefined>) => Promise<T>,
  ): Promise<T> {
    const own: Work = { companion, isOver: false };
    const finish = async () => {
      own.isOver = true;
      while (own.taking) await own.taking;
      return own.taken;
    };
    try {
      return await this.#works.run(own, () => work(() => own.taken, finish));
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
