/** Which instances write to the disk of the data folder, and how to end one that would fill it. */

import { unlessAway } from "./refusal.ts";

/** An instance that has not ended and can write to that disk. */
export interface DiskWriter {
  id: string;
  /** How much of that disk it uses so far. Absent if that cannot be known at once. */
  bytes?: number;
}

/** The ability to report which instances write there. */
export interface DiskWriters {
  /** Cheap enough to call several times a second. */
  list(): Promise<DiskWriter[]>;
  /**
   * Ends the instance at once. Resolves when it writes nothing more, including data that the kernel still had to write for it. Its own disk
   * is freed then, or when it is removed. Its `exit` has this reason and is final. Unknown and ended instances are no error.
   */
  end(id: string, reason: string): Promise<void>;
}

/** Joins the writers of several drivers of one machine. */
export function writersOf(drivers: readonly { readonly writers?: DiskWriters | undefined }[]): DiskWriters | undefined {
  const all = drivers.flatMap(({ writers = [] }) => writers);
  if (all.length === 0) return undefined;
  /** Whose writer it is, as last listed. A driver that is away must not fail the end of another one's. */
  const owners = new Map<string, DiskWriters>();
  return {
    async list() {
      const lists = await Promise.all(all.map(async (writers) => ({ writers, its: await unlessAway(writers.list()) })));
      owners.clear();
      for (const { writers, its } of lists) for (const { id } of its) owners.set(id, writers);
      return lists.flatMap(({ its }) => its);
    },
    async end(id, reason) {
      const owner = owners.get(id);
      await Promise.all((owner ? [owner] : all).map((writers) => writers.end(id, reason)));
    },
  };
}
