/** The program beside the queue's SQLite file: its tables, and the journal's entries as statements. */
import type { DatabaseSync } from "node:sqlite";
import type { Entry, Stashed } from "../../ports/queue/journal.ts";
import { entryWire } from "./entry-wire.ts";
import { addCharges } from "./sqlite-charges.ts";
import { sql } from "./statement.ts";
import type { Program } from "./writer.ts";

/** Payloads up to this length are stored in the job's own row. A longer one would be copied at every change of the row. */
const INLINE_LENGTH = 4096;

const migrations = [
  `CREATE TABLE jobs (
     id TEXT PRIMARY KEY, endpoint TEXT NOT NULL, state TEXT NOT NULL, position INTEGER NOT NULL,
     created_at INTEGER NOT NULL, expires_at INTEGER,
     doc TEXT NOT NULL, body TEXT, result TEXT, progress TEXT
   ) WITHOUT ROWID;
   CREATE INDEX live_jobs ON jobs (position) WHERE state IN ('IN_QUEUE', 'IN_PROGRESS');
   CREATE INDEX ended_jobs ON jobs (expires_at) WHERE expires_at IS NOT NULL;
   CREATE INDEX jobs_of_endpoint ON jobs (endpoint, created_at, id);
   -- Payloads too long for a row of jobs: in \`text\`, or in the file that \`file\` names.
   CREATE TABLE payloads (job TEXT NOT NULL, part TEXT NOT NULL, text TEXT, file TEXT, PRIMARY KEY (job, part)) WITHOUT ROWID;
   CREATE INDEX payload_files ON payloads (file) WHERE file IS NOT NULL;
   CREATE TABLE chunks (
     job TEXT NOT NULL, attempt INTEGER NOT NULL, sequence INTEGER NOT NULL, text TEXT NOT NULL,
     PRIMARY KEY (job, attempt, sequence)
   ) WITHOUT ROWID;
   CREATE TABLE keys (scoped TEXT PRIMARY KEY, job TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID;
   CREATE INDEX keys_of_job ON keys (job);
   CREATE TABLE purged (id TEXT PRIMARY KEY, until INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX purged_until ON purged (until);
   CREATE TABLE counters (
     endpoint TEXT PRIMARY KEY, completed INTEGER NOT NULL, failed INTEGER NOT NULL, retried INTEGER NOT NULL
   ) WITHOUT ROWID;
   CREATE TABLE outbox (
     job TEXT NOT NULL, url TEXT NOT NULL, endpoint TEXT NOT NULL, tries INTEGER NOT NULL, due_at INTEGER NOT NULL,
     PRIMARY KEY (job, url)
   ) WITHOUT ROWID;
   CREATE INDEX outbox_due ON outbox (due_at);`,
  `ALTER TABLE chunks ADD COLUMN key TEXT;
   CREATE UNIQUE INDEX chunk_keys ON chunks (job, attempt, key) WHERE key IS NOT NULL;`,
  // Messages of earlier releases share a target. They wait for each other, as before.
  `ALTER TABLE outbox ADD COLUMN target TEXT NOT NULL DEFAULT '-';
   DROP INDEX outbox_due;
   CREATE INDEX outbox_of_endpoint ON outbox (endpoint, due_at);
   CREATE INDEX outbox_of_target ON outbox (endpoint, target, due_at);`,
  // What callers of shared endpoints owe. It outlives the jobs and the endpoint.
  `CREATE TABLE charges (
     caller TEXT NOT NULL, endpoint TEXT NOT NULL, share TEXT NOT NULL, hour INTEGER NOT NULL, requests INTEGER NOT NULL,
     execution_ms INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, amount INTEGER NOT NULL,
     PRIMARY KEY (caller, hour, endpoint, share)
   ) WITHOUT ROWID;
   CREATE INDEX charges_of_endpoint ON charges (endpoint, hour);`,
  // Workers that serve one caller only.
  `CREATE TABLE bindings (holder TEXT PRIMARY KEY, endpoint TEXT NOT NULL, caller TEXT NOT NULL) WITHOUT ROWID;`,
  // What API keys with a spend limit have caused of the charges.
  `CREATE TABLE key_charges (
     key TEXT NOT NULL, hour INTEGER NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY (key, hour)
   ) WITHOUT ROWID;`,
  // Callers of one endpoint do not wait for each other's messages. Jobs without a caller have an empty one.
  `ALTER TABLE outbox ADD COLUMN caller TEXT NOT NULL DEFAULT '';
   UPDATE outbox SET caller = coalesce((SELECT json_extract(doc, '$.caller') FROM jobs WHERE jobs.id = outbox.job), '');
   DROP INDEX outbox_of_endpoint;
   DROP INDEX outbox_of_target;
   CREATE INDEX outbox_of_caller ON outbox (endpoint, caller, due_at);
   CREATE INDEX outbox_of_target ON outbox (endpoint, caller, target, due_at);`,
];

/** The caller removes these files, to which nothing refers any more, after the commit. */
export interface Results {
  results: unknown[];
  freed: string[];
}

/** Undefined where there is nothing to report, as for nearly all entries. An answer for each would have to cross back to the caller. */
function write(db: DatabaseSync, entries: readonly Entry[]): Results | undefined {
  const freed: string[] = [];
  const results = entries.map((entry) => writeEntry(db, entry, freed));
  return freed.length > 0 || results.some((result) => result !== undefined) ? { results, freed } : undefined;
}

function writeEntry(db: DatabaseSync, entry: Entry, freed: string[]): unknown {
  switch (entry.do) {
    case "insert":
      return insert(db, entry);
    case "update":
      return update(db, entry, freed);
    case "body":
      return replaceBody(db, entry, freed);
    case "remove":
      return remove(db, entry, freed);
    case "removeEndpoint":
      return removeEndpoint(db, entry, freed);
    case "count":
      return count(db, entry);
    case "charge":
      return addCharges(db, entry.charges);
    case "bind": {
      const { holder, endpoint, caller } = entry.binding;
      sql(db, "INSERT OR REPLACE INTO bindings VALUES (?, ?, ?)").run(holder, endpoint, caller);
      return undefined;
    }
    case "unbind":
      sql(db, "DELETE FROM bindings WHERE holder = ?").run(entry.holder);
      return undefined;
    case "message": {
      const { job, url, endpoint, tries, dueAt, target, caller } = entry.message;
      const row = [job, url, endpoint, tries, dueAt, target, caller];
      return sql(db, "INSERT OR REPLACE INTO outbox VALUES (?, ?, ?, ?, ?, ?, ?)").run(...row).changes;
    }
    case "settle":
      return settle(db, entry);
    case "chunks":
      for (const { id, attempt, sequence, text, key = null } of entry.chunks) {
        sql(db, "INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?)").run(id, attempt, sequence, text, key);
      }
      return undefined;
    case "expire":
      return expire(db, entry.now, entry.limit, freed);
  }
}

function insert(db: DatabaseSync, { row, body, key }: Extract<Entry, { do: "insert" }>): void {
  sql(
    db,
    `INSERT INTO jobs (id, endpoint, state, position, created_at, expires_at, doc, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(row.id, row.endpoint, row.state, row.position, row.createdAt, row.expiresAt, row.doc, inline(body));
  if (inline(body) === null) putAside(db, row.id, "body", body);
  if (key) sql(db, "INSERT OR REPLACE INTO keys VALUES (?, ?, ?)").run(key.scoped, row.id, key.digest);
}

/** One statement for all changes of a row, since finding the row costs more than setting another field. */
function update(
  db: DatabaseSync,
  { row, result, progress, dropChunks, output }: Extract<Entry, { do: "update" }>,
  freed: string[],
): void {
  const { id, state, position, expiresAt, doc } = row;
  const hasResult = result !== undefined;
  const hasProgress = progress !== undefined;
  const text = UPDATE[hasResult ? (hasProgress ? "both" : "result") : hasProgress ? "progress" : "neither"];
  const parts = [...(hasResult ? [result === null ? null : inline(result)] : []), ...(hasProgress ? [progress] : [])];
  sql(db, text).run(state, position, expiresAt, doc, ...parts, id);
  if (hasResult) setResultAside(db, id, result, freed);
  if (output !== undefined) dropAside(db, "job = ? AND part = 'output'", id, freed);
  if (typeof output === "string") putAside(db, id, "output", { file: output });
  if (dropChunks) sql(db, "DELETE FROM chunks WHERE job = ?").run(id);
}

const updating = (more: string) =>
  `UPDATE jobs SET state = ?, position = ?, expires_at = ?, doc = ?${more} WHERE id = ?`;
const UPDATE = {
  neither: updating(""),
  result: updating(", result = ?"),
  progress: updating(", progress = ?"),
  both: updating(", result = ?, progress = ?"),
};

/** Stores a result that is too long for the row. A result that fits leaves nothing to remove, since a job has at most one result. */
function setResultAside(db: DatabaseSync, id: string, result: Stashed | null, freed: string[]): void {
  if (result !== null && inline(result) !== null) return;
  dropAside(db, "job = ? AND part = 'result'", id, freed);
  if (result !== null) putAside(db, id, "result", result);
}

function replaceBody(db: DatabaseSync, { id, body }: Extract<Entry, { do: "body" }>, freed: string[]): void {
  const { changes } = sql(db, "UPDATE jobs SET body = ? WHERE id = ?").run(inline(body), id);
  if (changes === 0) {
    if (typeof body === "object") freed.push(body.file);
    return;
  }
  dropAside(db, "job = ? AND part = 'body'", id, freed);
  if (inline(body) === null) putAside(db, id, "body", body);
}

/** The text that is stored in the job's own row, or null when it is stored elsewhere. */
function inline(payload: Stashed): string | null {
  return typeof payload === "string" && payload.length <= INLINE_LENGTH ? payload : null;
}

function putAside(db: DatabaseSync, job: string, part: string, payload: Stashed): void {
  const [text, file] = typeof payload === "string" ? [payload, null] : [null, payload.file];
  sql(db, "INSERT OR REPLACE INTO payloads VALUES (?, ?, ?, ?)").run(job, part, text, file);
}

function dropAside(db: DatabaseSync, where: string, value: string, freed: string[]): void {
  const dropped = sql(db, `DELETE FROM payloads WHERE ${where} RETURNING file`).all(value) as { file: string | null }[];
  for (const { file } of dropped) if (file) freed.push(file);
}

function remove(db: DatabaseSync, { ids, rememberUntil }: Extract<Entry, { do: "remove" }>, freed: string[]): void {
  for (const id of ids) {
    sql(db, "INSERT OR REPLACE INTO purged VALUES (?, ?)").run(id, rememberUntil);
    removeJob(db, id, freed);
  }
}

function removeJob(db: DatabaseSync, id: string, freed: string[]): void {
  sql(db, "DELETE FROM jobs WHERE id = ?").run(id);
  sql(db, "DELETE FROM chunks WHERE job = ?").run(id);
  sql(db, "DELETE FROM keys WHERE job = ?").run(id);
  sql(db, "DELETE FROM outbox WHERE job = ?").run(id);
  dropAside(db, "job = ?", id, freed);
}

function removeEndpoint(
  db: DatabaseSync,
  { endpoint, limit }: Extract<Entry, { do: "removeEndpoint" }>,
  freed: string[],
): number {
  const doomed = sql(db, "SELECT id FROM jobs WHERE endpoint = ? LIMIT ?").all(endpoint, limit) as { id: string }[];
  for (const { id } of doomed) removeJob(db, id, freed);
  if (doomed.length >= limit) return doomed.length;
  sql(db, "DELETE FROM counters WHERE endpoint = ?").run(endpoint);
  sql(db, "DELETE FROM bindings WHERE endpoint = ?").run(endpoint);
  return doomed.length;
}

function count(db: DatabaseSync, { endpoint, count }: Extract<Entry, { do: "count" }>): void {
  sql(
    db,
    `INSERT INTO counters VALUES (?1, ?2, ?3, ?4) ON CONFLICT (endpoint)
     DO UPDATE SET completed = completed + ?2, failed = failed + ?3, retried = retried + ?4`,
  ).run(endpoint, count.completed ?? 0, count.failed ?? 0, count.retried ?? 0);
}

function settle(db: DatabaseSync, { job, url, next, seen }: Extract<Entry, { do: "settle" }>): void {
  const which = "job = ? AND url = ? AND tries = coalesce(?, tries) AND due_at = coalesce(?, due_at)";
  const values = [job, url, seen?.tries ?? null, seen?.dueAt ?? null];
  if (next === "done") sql(db, `DELETE FROM outbox WHERE ${which}`).run(...values);
  else sql(db, `UPDATE outbox SET tries = ?, due_at = ? WHERE ${which}`).run(next.tries, next.dueAt, ...values);
}

function expire(db: DatabaseSync, now: number, limit: number, freed: string[]): number {
  sql(db, "DELETE FROM purged WHERE id IN (SELECT id FROM purged WHERE until <= ? LIMIT ?)").run(now, limit);
  const over = sql(
    db,
    `SELECT id FROM jobs WHERE expires_at <= ? AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.job = jobs.id)
     ORDER BY expires_at LIMIT ?`,
  ).all(now, limit) as { id: string }[];
  for (const { id } of over) removeJob(db, id, freed);
  return over.length;
}

export const program: Program = { migrations, commands: { write }, wire: entryWire };
