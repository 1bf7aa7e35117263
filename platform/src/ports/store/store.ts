/** The store port: it keeps the documents of every resource. Each commit is written as a whole or not at all. */
import type { LastSeen } from "../../kernel/cursor.ts";
import type { Document } from "../../kernel/document.ts";

/** A value that at most one record of a kind may hold within `scope` (an account, or `*` for the whole installation). */
export interface UniqueKey {
  scope: string;
  name: string;
  value: string;
}

/** A value that any number of records of a kind may hold. They can be listed by it. */
export interface ListKey {
  name: string;
  value: string;
}

export interface NewRecord {
  kind: string;
  id: string;
  account: string;
  createdAt: number;
  /**
   * Stored as JSON: values that JSON lacks, such as undefined, are dropped, and text that no database can hold is replaced. The order of
   * its keys may change.
   */
  doc: Document;
  unique: UniqueKey[];
  /** Empty by default. */
  listed?: ListKey[];
}

export interface StoredRecord {
  kind: string;
  id: string;
  account: string;
  createdAt: number;
  /** 1 at insertion, and one more at each patch. Compare-and-set uses it. */
  version: number;
  /** Readers may share the document, so nobody may change it in place. */
  doc: Document;
}

/** Records of a kind: all of them, or those of an account, with a key, or both. */
export interface Selection {
  kind: string;
  account?: string | undefined;
  key?: ListKey | undefined;
}

/** Records that count: each as one, or with the value of this number field in its document. */
export interface Counting extends Selection {
  sum?: string | undefined;
}

/**
 * After the write, the counted records may come to at most this many. This holds for all writes under the bound at once, from any number of
 * nodes. Writes without the bound are not refused, but count once they are there.
 */
export interface Bound {
  of: readonly Counting[];
  most: number;
}

export type Write =
  | { do: "insert"; record: NewRecord; within?: readonly Bound[] }
  /** Changes the named fields, removes those set to undefined, and keeps all others, whether this release knows them or not. */
  | {
      do: "patch";
      kind: string;
      id: string;
      ifVersion?: number;
      set: Document;
      unset?: string[];
      /** Replaces the keys that the record has. */
      unique?: UniqueKey[];
      listed?: ListKey[];
      within?: readonly Bound[];
    }
  | { do: "remove"; kind: string; id: string; ifVersion?: number };

/** The kinds of records that these writes change. */
export const kindsOf = (writes: readonly Write[]): Set<string> =>
  new Set(writes.map((write) => (write.do === "insert" ? write.record.kind : write.kind)));

/** `full`: the write would exceed one of its bounds. */
export type RefusalReason = "id-taken" | "key-taken" | "missing" | "changed" | "full";

/** A condition of a write did not hold. Nothing of its commit was written. */
export class WriteRefused extends Error {
  readonly reason: RefusalReason;
  /** The index of the refused write in its commit. */
  readonly index: number;

  constructor(reason: RefusalReason, index: number) {
    super(`write ${index} refused: ${reason}`);
    this.reason = reason;
    this.index = index;
  }
}

export interface Listing extends Selection {
  after?: LastSeen | undefined;
  limit: number;
}

export interface Lease {
  name: string;
  holder: string;
  now: number;
  until: number;
}

export interface Store extends AsyncDisposable {
  /** Makes all of the writes or none. Durable once resolved. Throws WriteRefused when a condition does not hold. */
  commit(writes: Write[]): Promise<StoredRecord[]>;
  get(kind: string, id: string): Promise<StoredRecord | undefined>;
  /** Returns the record that holds this unique key. */
  find(kind: string, key: UniqueKey): Promise<StoredRecord | undefined>;
  /** Lists records, newest first. A record inserted or removed between two pages never moves, repeats or hides another. */
  list(listing: Listing): Promise<StoredRecord[]>;
  /** Returns how many records there are, or the sum of their numbers, without reading them. */
  count(counting: Counting): Promise<number>;
  /**
   * Once this resolves to true, no file contains text that was removed or replaced. It waits for those who read an older state, and resolves
   * to false when they take longer than some seconds. A store also does this by itself soon after each removal and replacement.
   */
  scrub(): Promise<boolean>;
  /**
   * A number that grows by one with every commit that writes records of this kind, by whichever process, and not otherwise. The removal of
   * an account counts as a commit for each of its kinds. Undefined if the store cannot tell cheaply.
   */
  stamp(kind: string): number | undefined;
  /** Removes everything that an account has, of every kind, and scrubs. */
  removeAccount(account: string): Promise<void>;
  /**
   * Returns the fence if the lease is free, lapsed or already held by this holder, and undefined otherwise. The fence grows with every
   * change of holder, and when a holder let its lease lapse.
   */
  lease(ask: Lease): Promise<number | undefined>;
  release(name: string, holder: string): Promise<void>;
  /** Removes a lease that nobody holds now, for a name that is not used any more. If it is used again, its fences begin anew. */
  removeLease(name: string, now: number): Promise<void>;
}
