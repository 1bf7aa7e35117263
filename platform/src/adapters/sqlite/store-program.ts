/** The program beside the store's SQLite file: its tables and the commands that write them. */

import type { DatabaseSync } from "node:sqlite";
import { isStorable, storableJson } from "../../kernel/storable.ts";
import {
  type Bound,
  type Counting,
  kindsOf,
  type Lease,
  type ListKey,
  type NewRecord,
  type RefusalReason,
  type Selection,
  type StoredRecord,
  type UniqueKey,
  type Write,
} from "../../ports/store/store.ts";
import { sql } from "./statement.ts";
import type { Program } from "./writer.ts";

const migrations = [
  `CREATE TABLE records (
     kind TEXT NOT NULL, id TEXT NOT NULL, account TEXT NOT NULL, created_at INTEGER NOT NULL,
     version INTEGER NOT NULL, doc TEXT NOT NULL,
     PRIMARY KEY (kind, id)
   ) WITHOUT ROWID;
   CREATE INDEX records_by_account ON records (kind, account, created_at, id);
   CREATE INDEX records_by_age ON records (kind, created_at, id);
   CREATE TABLE unique_keys (
     kind TEXT NOT NULL, scope TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, id TEXT NOT NULL,
     PRIMARY KEY (kind, scope, name, value)
   ) WITHOUT ROWID;
   CREATE INDEX unique_keys_by_record ON unique_keys (kind, id);
   CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until INTEGER NOT NULL, fence INTEGER NOT NULL) WITHOUT ROWID;`,
  `CREATE TABLE list_keys (
     kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, created_at INTEGER NOT NULL, id TEXT NOT NULL,
     PRIMARY KEY (kind, name, value, created_at, id)
   ) WITHOUT ROWID;
   CREATE INDEX list_keys_by_record ON list_keys (kind, id);`,
  // With the version in the index, a list can check which records changed without reading them, which takes a sixth of the time.
  `DROP INDEX records_by_account;
   DROP INDEX records_by_age;
   CREATE INDEX records_by_account ON records (kind, account, created_at, id, version);
   CREATE INDEX records_by_age ON records (kind, created_at, id, version);`,
  "CREATE TABLE stamps (kind TEXT PRIMARY KEY, commits INTEGER NOT NULL) WITHOUT ROWID",
];

/** Documents travel as text, so a caller gets exactly what the file holds. */
export type Committed = { written: Row[] } | { refused: RefusalReason; index: number };

export interface Row {
  kind: string;
  id: string;
  account: string;
  created_at: number;
  version: number;
  doc: string;
}

export function fromRow(row: Row): StoredRecord {
  const { kind, id, account, created_at: createdAt, version } = row;
  return { kind, id, account, createdAt, version, doc: JSON.parse(row.doc) };
}

/** The written record. Its document is parsed only when somebody reads it: most writers do not, and documents may be long. */
export function writtenRow(row: Row): StoredRecord {
  const { kind, id, account, created_at: createdAt, version } = row;
  let doc: StoredRecord["doc"] | undefined;
  return {
    kind,
    id,
    account,
    createdAt,
    version,
    get doc() {
      doc ??= JSON.parse(row.doc) as StoredRecord["doc"];
      return doc;
    },
  };
}

/** One commit. A refusal undoes its earlier writes through a savepoint, and leaves the rest of the batch alone. */
function commit(db: DatabaseSync, writes: Write[]): Committed {
  db.exec("SAVEPOINT one_commit");
  const written: Row[] = [];
  for (const [index, write] of writes.entries()) {
    const result = applyWithin(db, write);
    if (typeof result === "string") {
      db.exec("ROLLBACK TO one_commit; RELEASE one_commit");
      return { refused: result, index };
    }
    written.push(result);
  }
  for (const kind of kindsOf(writes)) stamp(db, kind);
  db.exec("RELEASE one_commit");
  return { written };
}

function stamp(db: DatabaseSync, kind: string): void {
  sql(db, "INSERT INTO stamps (kind, commits) VALUES (?, 1) ON CONFLICT DO UPDATE SET commits = commits + 1").run(kind);
}

function applyWithin(db: DatabaseSync, write: Write): Row | RefusalReason {
  const result = apply(db, write);
  if (typeof result === "string" || write.do === "remove") return result;
  return write.within?.some((bound) => isPast(db, bound)) ? "full" : result;
}

/** There is only one writer, so this count is complete. */
const isPast = (db: DatabaseSync, { of, most }: Bound) =>
  of.reduce((sum, counting) => sum + counted(db, counting), 0) > most;

function apply(db: DatabaseSync, write: Write): Row | RefusalReason {
  if (write.do === "insert") return insert(db, write.record);
  const row = sql(db, "SELECT * FROM records WHERE kind = ? AND id = ?").get(write.kind, write.id) as Row | undefined;
  if (!row) return "missing";
  if (write.ifVersion !== undefined && write.ifVersion !== row.version) return "changed";
  return write.do === "patch" ? patch(db, row, write) : remove(db, row);
}

function insert(db: DatabaseSync, record: NewRecord): Row | RefusalReason {
  const { kind, id, account, createdAt } = record;
  const row: Row = { kind, id, account, created_at: createdAt, version: 1, doc: storableJson(record.doc) };
  const inserted = sql(
    db,
    `INSERT INTO records (kind, id, account, created_at, version, doc)
     VALUES (:kind, :id, :account, :created_at, :version, :doc) ON CONFLICT DO NOTHING`,
  ).run({ ...row });
  if (inserted.changes === 0) return "id-taken";
  listUnder(db, row, record.listed ?? []);
  return claimKeys(db, row, record.unique) ?? row;
}

function patch(db: DatabaseSync, row: Row, write: Extract<Write, { do: "patch" }>): Row | RefusalReason {
  const changed = { ...JSON.parse(row.doc), ...write.set };
  for (const name of write.unset ?? []) delete changed[name];
  const patched: Row = { ...row, version: row.version + 1, doc: storableJson(changed) };
  const { kind, id, version, doc } = patched;
  sql(db, "UPDATE records SET doc = ?, version = ? WHERE kind = ? AND id = ?").run(doc, version, kind, id);
  if (write.listed) {
    unlist(db, row);
    listUnder(db, row, write.listed);
  }
  if (!write.unique) return patched;
  freeKeys(db, row);
  return claimKeys(db, row, write.unique) ?? patched;
}

function remove(db: DatabaseSync, row: Row): Row {
  freeKeys(db, row);
  unlist(db, row);
  sql(db, "DELETE FROM records WHERE kind = ? AND id = ?").run(row.kind, row.id);
  return row;
}

function claimKeys(db: DatabaseSync, { kind, id }: Row, keys: UniqueKey[]): RefusalReason | undefined {
  const claim = sql(
    db,
    "INSERT INTO unique_keys (kind, scope, name, value, id) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const free = keys.every(({ scope, name, value }) => claim.run(kind, scope, name, value, id).changes === 1);
  return free ? undefined : "key-taken";
}

function freeKeys(db: DatabaseSync, { kind, id }: Row): void {
  sql(db, "DELETE FROM unique_keys WHERE kind = ? AND id = ?").run(kind, id);
}

function listUnder(db: DatabaseSync, { kind, id, created_at }: Row, keys: ListKey[]): void {
  const list = sql(
    db,
    "INSERT INTO list_keys (kind, name, value, created_at, id) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  for (const { name, value } of keys) list.run(kind, name, value, created_at, id);
}

function unlist(db: DatabaseSync, { kind, id }: Row): void {
  sql(db, "DELETE FROM list_keys WHERE kind = ? AND id = ?").run(kind, id);
}

function removeAccount(db: DatabaseSync, account: string): void {
  const kinds = sql(db, "SELECT DISTINCT kind FROM records WHERE account = ?").all(account) as { kind: string }[];
  for (const { kind } of kinds) stamp(db, kind);
  const its = "WHERE (kind, id) IN (SELECT kind, id FROM records WHERE account = ?)";
  sql(db, `DELETE FROM unique_keys ${its}`).run(account);
  sql(db, `DELETE FROM list_keys ${its}`).run(account);
  sql(db, "DELETE FROM records WHERE account = ?").run(account);
}

function lease(db: DatabaseSync, { name, holder, now, until }: Lease): number | undefined {
  const row = sql(
    db,
    `INSERT INTO leases (name, holder, until, fence) VALUES (?1, ?2, ?4, 1)
     ON CONFLICT (name) DO UPDATE SET
       fence = CASE WHEN leases.holder = ?2 AND leases.until > ?3 THEN leases.fence ELSE leases.fence + 1 END,
       holder = ?2, until = ?4
     WHERE leases.holder = ?2 OR leases.until <= ?3
     RETURNING fence`,
  ).get(name, holder, now, until) as { fence: number } | undefined;
  return row?.fence;
}

function release(db: DatabaseSync, { name, holder }: { name: string; holder: string }): void {
  // The row stays, so that the fence never decreases.
  sql(db, "UPDATE leases SET until = -9007199254740991 WHERE name = ? AND holder = ?").run(name, holder);
}

function removeLease(db: DatabaseSync, { name, now }: { name: string; now: number }): void {
  sql(db, "DELETE FROM leases WHERE name = ? AND until <= ?").run(name, now);
}

/** A selection as SQL, with its values by name. */
export function selected({ kind, account, key }: Selection) {
  const from = key
    ? { tables: "list_keys JOIN records USING (kind, id)", order: "list_keys" }
    : { tables: "records", order: "records" };
  const where = [
    `${from.order}.kind = :kind`,
    ...(key ? ["name = :name", "value = :value"] : []),
    ...(account === undefined ? [] : ["account = :account"]),
  ].join(" AND ");
  return { from, where, values: { kind, ...key, ...(account === undefined ? {} : { account }) } };
}

export const areStorable = (values: Record<string, string>) => Object.values(values).every(isStorable);

export function counted(db: DatabaseSync, { sum, ...selection }: Counting): number {
  const { from, where, values } = selected(selection);
  if (!areStorable(values)) return 0;
  const what =
    sum === undefined
      ? "count(*)"
      : "coalesce(sum(CASE WHEN json_type(doc, :sum) IN ('integer', 'real') THEN json_extract(doc, :sum) END), 0)";
  const given: Record<string, string> = values;
  if (sum !== undefined) given.sum = `$.${JSON.stringify(sum)}`;
  const found = sql(db, `SELECT ${what} AS n FROM ${from.tables} WHERE ${where}`).get(given);
  return (found as { n: number }).n;
}

export const program: Program = { migrations, commands: { commit, removeAccount, lease, release, removeLease } };
