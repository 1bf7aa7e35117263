/** The store in memory, for tests. It is also the simplest statement of what the port means. */
import type { Document } from "../../kernel/document.ts";
import { frozen } from "../../kernel/frozen.ts";
import { isStorable, storableJson } from "../../kernel/storable.ts";
import {
  type Bound,
  type Counting,
  kindsOf,
  type Lease,
  type Listing,
  type ListKey,
  type NewRecord,
  type Selection,
  type Store,
  type StoredRecord,
  type UniqueKey,
  type Write,
  WriteRefused,
} from "./store.ts";

interface Row extends StoredRecord {
  unique: UniqueKey[];
  listed: ListKey[];
}

/** The records of one kind. */
class Shelf {
  readonly rows = new Map<string, Row>();
  /** The ids of records by their unique keys. */
  readonly unique = new Map<string, string>();
  /** How many commits wrote here. */
  commits = 0;
  #newestFirst: Row[] | undefined;

  put(row: Row): void {
    this.rows.set(row.id, row);
    this.#newestFirst = undefined;
  }

  drop(id: string): void {
    this.rows.delete(id);
    this.#newestFirst = undefined;
  }

  /** Sorted once after each change, since most records are read far more often than written. */
  get newestFirst(): readonly Row[] {
    this.#newestFirst ??= [...this.rows.values()].sort((a, b) => b.createdAt - a.createdAt || compareText(b.id, a.id));
    return this.#newestFirst;
  }

  *selected({ account, key }: Omit<Selection, "kind">): Generator<Row> {
    for (const row of this.newestFirst)
      if ((account === undefined || row.account === account) && (!key || isListed(row, key))) yield row;
  }
}

export class MemoryStore implements Store {
  readonly #shelves = new Map<string, Shelf>();
  readonly #leases = new Map<string, { holder: string; until: number; fence: number }>();

  async commit(writes: Write[]): Promise<StoredRecord[]> {
    const draft = new Draft((kind) => this.#shelf(kind));
    try {
      const written = writes.map((write, index) => shown(draft.write(write, index)));
      for (const kind of kindsOf(writes)) this.#shelf(kind).commits++;
      return written;
    } catch (error) {
      draft.undo();
      throw error;
    }
  }

  async get(kind: string, id: string): Promise<StoredRecord | undefined> {
    const row = this.#shelves.get(kind)?.rows.get(id);
    return row && shown(row);
  }

  async find(kind: string, key: UniqueKey): Promise<StoredRecord | undefined> {
    const id = this.#shelves.get(kind)?.unique.get(uniqueKey(key));
    return id === undefined ? undefined : this.get(kind, id);
  }

  async list({ after, limit, kind, ...selection }: Listing): Promise<StoredRecord[]> {
    const found: StoredRecord[] = [];
    for (const row of this.#shelf(kind).selected(selection)) {
      if (found.length >= limit) break;
      if (!after || isAfter(row, after)) found.push(shown(row));
    }
    return found;
  }

  async count(counting: Counting): Promise<number> {
    return counted(this.#shelf(counting.kind), counting);
  }

  async scrub(): Promise<boolean> {
    return true;
  }

  stamp(kind: string): number {
    return this.#shelves.get(kind)?.commits ?? 0;
  }

  async removeAccount(account: string): Promise<void> {
    const all = [...this.#shelves.values()].flatMap(({ rows }) => [...rows.values()]);
    const doomed = all.filter((row) => row.account === account);
    await this.commit(doomed.map(({ kind, id }) => ({ do: "remove", kind, id })));
  }

  async lease({ name, holder, now, until }: Lease): Promise<number | undefined> {
    const held = this.#leases.get(name);
    if (held && held.holder !== holder && held.until > now) return undefined;
    const fence = held?.holder === holder && held.until > now ? held.fence : (held?.fence ?? 0) + 1;
    this.#leases.set(name, { holder, until, fence });
    return fence;
  }

  async release(name: string, holder: string): Promise<void> {
    const held = this.#leases.get(name);
    if (held?.holder === holder) held.until = Number.NEGATIVE_INFINITY;
  }

  async removeLease(name: string, now: number): Promise<void> {
    const held = this.#leases.get(name);
    if (held && held.until <= now) this.#leases.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #shelf(kind: string): Shelf {
    let shelf = this.#shelves.get(kind);
    if (!shelf) {
      shelf = new Shelf();
      this.#shelves.set(kind, shelf);
    }
    return shelf;
  }
}

/** The writes of one commit. A refusal half way leaves no trace, since everything is undone, the latest first. */
class Draft {
  readonly #shelf: (kind: string) => Shelf;
  readonly #undoing: (() => void)[] = [];

  constructor(shelf: (kind: string) => Shelf) {
    this.#shelf = shelf;
  }

  undo(): void {
    for (const undo of this.#undoing.reverse()) undo();
  }

  write(write: Write, index: number): Row {
    const row = this.#write(write, index);
    if (write.do !== "remove" && write.within?.some((bound) => this.#isPast(bound)))
      throw new WriteRefused("full", index);
    return row;
  }

  #write(write: Write, index: number): Row {
    if (write.do === "insert") return this.#insert(write.record, index);
    const row = this.#shelf(write.kind).rows.get(write.id);
    if (!row) throw new WriteRefused("missing", index);
    if (write.ifVersion !== undefined && write.ifVersion !== row.version) throw new WriteRefused("changed", index);
    return write.do === "patch" ? this.#patch(row, write, index) : this.#remove(row);
  }

  #insert(record: NewRecord, index: number): Row {
    const shelf = this.#shelf(record.kind);
    if (shelf.rows.has(record.id)) throw new WriteRefused("id-taken", index);
    const { unique, listed = [] } = record;
    const doc = asJson(record.doc);
    const row: Row = { ...record, doc, unique: unique.map(keyOf), listed: listed.map(keyOf), version: 1 };
    this.#claimKeys(row, index);
    this.#put(row, undefined);
    return row;
  }

  #patch(row: Row, patch: Extract<Write, { do: "patch" }>, index: number): Row {
    const { unique = row.unique, listed = row.listed } = patch;
    const keys = { unique: unique.map(keyOf), listed: listed.map(keyOf) };
    const patched: Row = { ...row, doc: patchedDoc(row.doc, patch), version: row.version + 1, ...keys };
    this.#freeKeys(row);
    this.#claimKeys(patched, index);
    this.#put(patched, row);
    return patched;
  }

  #put(row: Row, before: Row | undefined): void {
    const shelf = this.#shelf(row.kind);
    shelf.put(row);
    this.#undoing.push(() => (before ? shelf.put(before) : shelf.drop(row.id)));
  }

  #remove(row: Row): Row {
    const shelf = this.#shelf(row.kind);
    this.#freeKeys(row);
    shelf.drop(row.id);
    this.#undoing.push(() => shelf.put(row));
    return row;
  }

  #isPast({ of, most }: Bound): boolean {
    return of.reduce((sum, counting) => sum + counted(this.#shelf(counting.kind), counting), 0) > most;
  }

  #claimKeys(row: Row, index: number): void {
    const { unique } = this.#shelf(row.kind);
    for (const key of row.unique) {
      const text = uniqueKey(key);
      if (unique.has(text)) throw new WriteRefused("key-taken", index);
      unique.set(text, row.id);
      this.#undoing.push(() => unique.delete(text));
    }
  }

  #freeKeys(row: Row): void {
    const { unique } = this.#shelf(row.kind);
    for (const key of row.unique) {
      const text = uniqueKey(key);
      unique.delete(text);
      this.#undoing.push(() => unique.set(text, row.id));
    }
  }
}

const isListed = ({ listed }: Row, key: ListKey) =>
  listed.some(({ name, value }) => name === key.name && value === key.value);

const isAfter = (row: Row, after: { createdAt: number; id: string }) =>
  row.createdAt < after.createdAt || (row.createdAt === after.createdAt && row.id < after.id);

function counted(shelf: Shelf, { sum, ...selection }: Counting): number {
  let total = 0;
  for (const { doc } of shelf.selected(selection)) {
    const value = sum === undefined ? 1 : doc[sum];
    if (typeof value === "number") total += value;
  }
  return total;
}

const keyOf = <K extends object>(key: K): K => ({ ...key });
const uniqueKey = ({ scope, name, value }: UniqueKey) => JSON.stringify([scope, name, value]);
const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Returns a copy as any store would keep it: without undefined, dates, class instances, and text that a database cannot hold. */
const asJson = (doc: Document): Document => frozen(JSON.parse(storableJson(doc)));

/** Most patches write the whole document back. Only what differs from the kept document is made storable. */
function patchedDoc(kept: Document, { set, unset = [] }: Extract<Write, { do: "patch" }>): Document {
  const changed: Document = { ...kept, ...set };
  for (const name of unset) delete changed[name];
  for (const [name, value] of Object.entries(changed)) {
    if (value === undefined) delete changed[name];
    else if (value !== kept[name] && !isPlain(value)) return asJson(changed);
    else if (!isStorable(name)) return asJson(changed);
  }
  return Object.freeze(changed);
}

/** Values that a copy as JSON leaves as they are. */
const isPlain = (value: unknown) =>
  typeof value === "string"
    ? isStorable(value)
    : value === null || typeof value === "boolean" || (Number.isFinite(value) && !Object.is(value, -0));

/** Callers share the documents, which are frozen. */
function shown({ kind, id, account, createdAt, version, doc }: Row): StoredRecord {
  return { kind, id, account, createdAt, version, doc };
}
