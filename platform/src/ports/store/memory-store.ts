/** The store in memory, for tests. It is also the simplest statement of what the port means. */
import type { Document } from "../../kernel/document.ts";
import { frozen } from "../../kernel/frozen.ts";
import { storableJson } from "../../kernel/storable.ts";
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

export class MemoryStore implements Store {
  #rows = new Map<string, Row>();
  #unique = new Map<string, string>();
  /** How many commits wrote records of each kind. */
  readonly #commits = new Map<string, number>();
  readonly #leases = new Map<string, { holder: string; until: number; fence: number }>();

  async commit(writes: Write[]): Promise<StoredRecord[]> {
    // Writes go to copies, which replace the originals at the end. A refusal half way leaves no trace.
    const draft = new Draft(new Map(this.#rows), new Map(this.#unique));
    const written = writes.map((write, index) => draft.write(write, index));
    this.#rows = draft.rows;
    this.#unique = draft.unique;
    for (const kind of kindsOf(writes)) this.#commits.set(kind, this.stamp(kind) + 1);
    return written.map(shown);
  }

  async get(kind: string, id: string): Promise<StoredRecord | undefined> {
    const row = this.#rows.get(rowKey(kind, id));
    return row && shown(row);
  }

  async find(kind: string, key: UniqueKey): Promise<StoredRecord | undefined> {
    const id = this.#unique.get(uniqueKey(kind, key));
    return id === undefined ? undefined : this.get(kind, id);
  }

  async list({ after, limit, ...selection }: Listing): Promise<StoredRecord[]> {
    return this.#selected(selection)
      .sort((a, b) => b.createdAt - a.createdAt || compareText(b.id, a.id))
      .filter(
        (row) => !after || row.createdAt < after.createdAt || (row.createdAt === after.createdAt && row.id < after.id),
      )
      .slice(0, limit)
      .map(shown);
  }

  async count(counting: Counting): Promise<number> {
    return counted(this.#rows, counting);
  }

  #selected(selection: Selection): Row[] {
    return selected(this.#rows, selection);
  }

  async scrub(): Promise<boolean> {
    return true;
  }

  stamp(kind: string): number {
    return this.#commits.get(kind) ?? 0;
  }

  async removeAccount(account: string): Promise<void> {
    const doomed = [...this.#rows.values()].filter((row) => row.account === account);
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

  async [Symbol.asyncDispose](): Promise<void> {}
}

class Draft {
  readonly rows: Map<string, Row>;
  readonly unique: Map<string, string>;

  constructor(rows: Map<string, Row>, unique: Map<string, string>) {
    this.rows = rows;
    this.unique = unique;
  }

  write(write: Write, index: number): Row {
    const row = this.#write(write, index);
    if (write.do !== "remove" && write.within?.some((bound) => this.#isPast(bound)))
      throw new WriteRefused("full", index);
    return row;
  }

  #write(write: Write, index: number): Row {
    if (write.do === "insert") return this.#insert(write.record, index);
    const row = this.rows.get(rowKey(write.kind, write.id));
    if (!row) throw new WriteRefused("missing", index);
    if (write.ifVersion !== undefined && write.ifVersion !== row.version) throw new WriteRefused("changed", index);
    return write.do === "patch" ? this.#patch(row, write, index) : this.#remove(row);
  }

  #insert(record: NewRecord, index: number): Row {
    const key = rowKey(record.kind, record.id);
    if (this.rows.has(key)) throw new WriteRefused("id-taken", index);
    const keys = structuredClone({ unique: record.unique, listed: record.listed ?? [] });
    const row: Row = { ...record, doc: asJson(record.doc), ...keys, version: 1 };
    this.#claimKeys(row, index);
    this.rows.set(key, row);
    return row;
  }

  #patch(row: Row, patch: Extract<Write, { do: "patch" }>, index: number): Row {
    const changed: Document = { ...row.doc, ...patch.set };
    for (const name of patch.unset ?? []) delete changed[name];
    const keys = structuredClone({ unique: patch.unique ?? row.unique, listed: patch.listed ?? row.listed });
    const patched: Row = { ...row, doc: asJson(changed), version: row.version + 1, ...keys };
    this.#freeKeys(row);
    this.#claimKeys(patched, index);
    this.rows.set(rowKey(row.kind, row.id), patched);
    return patched;
  }

  #remove(row: Row): Row {
    this.#freeKeys(row);
    this.rows.delete(rowKey(row.kind, row.id));
    return row;
  }

  #isPast({ of, most }: Bound): boolean {
    return of.reduce((sum, counting) => sum + counted(this.rows, counting), 0) > most;
  }

  #claimKeys(row: Row, index: number): void {
    for (const key of row.unique) {
      const text = uniqueKey(row.kind, key);
      if (this.unique.has(text)) throw new WriteRefused("key-taken", index);
      this.unique.set(text, row.id);
    }
  }

  #freeKeys(row: Row): void {
    for (const key of row.unique) this.unique.delete(uniqueKey(row.kind, key));
  }
}

function selected(rows: ReadonlyMap<string, Row>, { kind, account, key }: Selection): Row[] {
  const hasKey = ({ listed }: Row) =>
    !key || listed.some(({ name, value }) => name === key.name && value === key.value);
  return [...rows.values()].filter(
    (row) => row.kind === kind && (account === undefined || row.account === account) && hasKey(row),
  );
}

function counted(rows: ReadonlyMap<string, Row>, { sum, ...selection }: Counting): number {
  const meant = selected(rows, selection);
  if (sum === undefined) return meant.length;
  return meant.reduce((total, { doc }) => total + (typeof doc[sum] === "number" ? doc[sum] : 0), 0);
}

const rowKey = (kind: string, id: string) => JSON.stringify([kind, id]);
const uniqueKey = (kind: string, { scope, name, value }: UniqueKey) => JSON.stringify([kind, scope, name, value]);
const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

/** Returns a copy as any store would keep it: without undefined, dates, class instances, and text that a database cannot hold. */
const asJson = (doc: Document): Document => frozen(JSON.parse(storableJson(doc)));

/** Callers share the documents, which are frozen. */
function shown({ kind, id, account, createdAt, version, doc }: Row): StoredRecord {
  return { kind, id, account, createdAt, version, doc };
}
