/** Which instances write to the disk that the data folder is on, and how one is ended that would take the last of it. */

/** An instance that has not ended and can write to that disk. */
export interface DiskWriter {
  id: string;
  /** What it has taken of that disk so far; absent where nobody can tell at once. */
  bytes?: number;
}

/** The ability to tell who writes there. */
export interface DiskWriters {
  /** Cheap enough to be asked several times a second. */
  list(): Promise<DiskWriter[]>;
  /**
   * Ends it at once. Resolves when nothing of it writes any more, also nothing that the kernel still had to write for it. Its own disk is
   * freed then, or when it is removed. Its `exit` has this reason and is final. Unknown and ended ones are no error.
   */
  end(id: string, reason: string): Promise<void>;
}

/** Those of several drivers of one machine. */
export function writersOf(drivers: readonly { readonly writers?: DiskWriters | undefined }[]): DiskWriters | undefined {
  const all = drivers.flatMap(({ writers = [] }) => writers);
  if (all.length === 0) return undefined;
  return {
    list: async () => (await Promise.all(all.map((writers) => writers.list()))).flat(),
    async end(id, reason) {
      await Promise.all(all.map((writers) => writers.end(id, reason)));
    },
  };
}
