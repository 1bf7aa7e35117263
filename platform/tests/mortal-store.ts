/** A store as one process sees it: once killed at a commit, that process reads and writes nothing more, and gets no answers. */
import type { Store, Write } from "../src/ports/store/store.ts";

export interface Mortal {
  store: Store;
  /** Dies at the commit after this many. `isWritten` says whether that commit reaches the disk. */
  dieAfter(commits: number, isWritten: boolean): void;
  die(): void;
  readonly isDead: boolean;
}

const never = () => new Promise<never>(() => {});

export function mortalStore(kept: Store): Mortal {
  let isDead = false;
  let doom: { left: number; isWritten: boolean } | undefined;
  const commit = async (writes: Write[]) => {
    if (doom && doom.left-- === 0) {
      isDead = true;
      if (doom.isWritten) await kept.commit(writes).catch(() => undefined);
      return never();
    }
    const written = await kept.commit(writes);
    return isDead ? never() : written;
  };
  const store = new Proxy(kept, {
    get(target, name) {
      const value = name === "commit" ? commit : target[name as keyof Store];
      if (typeof value !== "function") return value;
      return (...given: never[]) => (isDead ? never() : (value as (...all: never[]) => unknown).apply(target, given));
    },
  });
  return {
    store,
    dieAfter(left, isWritten) {
      doom = { left, isWritten };
    },
    die() {
      isDead = true;
    },
    get isDead() {
      return isDead;
    },
  };
}
