/** The store port: documents of every resource, written atomically and never half. */
import type { LastSeen } from "../../kernel/cursor.ts";
import type { Document } from "../../kernel/document.ts";

/** A value that at most one record of a kind may hold within `scope` (an account, or `*` for the whole installation). */
export interface UniqueKey {
  scope: string;
  name: string;
  value: string;
}

/** A value that any number of records of a kind may hold, and by which they are listed. */
export interface ListKey {
  name: string;
  value: string;
}

export interface NewRecord {
  kind: string;
  id: string;
  account: string;
  createdAt: number;
  /** Kept as JSON: what JSON cannot say, such as undefined, is not kept, and what no database can hold of a text is replaced. The order of its keys may change. */
  doc: Document;
  unique: UniqueKey[];
  /** None by default. */
  listed?: ListKey[];
}

export interface StoredRecord {
  kind: string;
  id: string;
  account: string;
  createdAt: number;
  /** 1 at insertion, one more at each patch; the handle for compare-and-set. */
  version: number;
  /** Readers may share it: nobody changes it in place. */
  doc: Document;
}

/** Records of a kind: all of them, or those of an account, with a key, or both. */
export interface Selection {
  kind: string;
  account?: string | undefined;
  key?: ListKey | undefined;
}

/** Records that count: each as one, or as much as this number in its document says. */
export interface Counting extends Selection {
  sum?: string | undefined;
}

/**
 * So many of these together, and no more, once the write is made. It holds for all that are written under it at once, by however many
 * nodes. What is written without it counts from when it is there.
 */
export interface Bound {
  of: readonly Counting[];
  most: number;
}

export type Write =
  | { do: "insert"; record: NewRecord; within?: readonly Bound[] }
  /** Changes the named fields, removing those set to undefined, and keeps all others, known to this release or not. */
  | {
      do: "patch";
      kind: string;
      id: string;
      ifVersion?: number;
      set: Document;
      unset?: string[];
      /** In the place of those that it has. */
      unique?: UniqueKey[];
      listed?: ListKey[];
      within?: readonly Bound[];
    }
  | { do: "remove"; kind: string; id: string; ifVersion?: number };

/** `full`: it would be more than one of its bounds allows. */
export type RefusalReason = "id-taken" | "key-taken" | "missing" | "changed" | "full";

/** A write was refused by its own condition; nothing of its commit happened. */
export class WriteRefused extends Error {
  readonly reason: RefusalReason;
  /** Which write of the commit was refused. */
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
  /** All of the writes or none. Durable once resolved. Throws WriteRefused when a condition does not hold. */
  commit(writes: Write[]): Promise<StoredRecord[]>;
  get(kind: string, id: string): Promise<StoredRecord | undefined>;
  /** The record that holds this unique key. */
  find(kind: string, key: UniqueKey): Promise<StoredRecord | undefined>;
  /** Newest first. A record inserted or removed between two pages never moves, repeats or hides another. */
  list(listing: Listing): Promise<StoredRecord[]>;
  /** How many there are, or what their numbers come to, without reading them. */
  count(counting: Counting): Promise<number>;
  /**
   * Text that was removed or replaced is in no file any more once this resolves, unless somebody reads an older state at this moment:
   * then it goes a little later. Without being asked, a store does the same soon after each removal and replacement.
   */
  scrub(): Promise<void>;
  /** Removes everything an account has, of every kind, so that its text can no longer be found in the files. */
  removeAccount(account: string): Promise<void>;
  /** The fence number when the lease is free, lapsed or already this holder's; it grows with every change of holder. */
  lease(ask: Lease): Promise<number | undefined>;
  release(name: string, holder: string): Promise<void>;
}
