/** The journal in one SQLite file: written by group commit, read on the calling thread. */
import type { DatabaseSync } from "node:sqlite";
import type { Random } from "../../kernel/random.ts";
import { sql } from "../sqlite/statement.ts";
import { type Flusher, GroupCommit, openForReading } from "../sqlite/writer.ts";
import { pack } from "./entry-wire.ts";
import type { Payload } from "./job.ts";
import type { Entry, JobRow, Journal, Stashed } from "./journal.ts";
import { PayloadFiles } from "./payload-files.ts";
import type { Chunk, Counter, JobFilter, Outgoing, Part } from "./queue.ts";

interface Row {
  id: string;
  endpoint: string;
  state: JobRow["state"];
  position: number;
  expires_at: number | null;
  doc: string;
}

const COLUMNS = "id, endpoint, state, position, expires_at, doc";

export class SqliteJournal implements Journal {
  readonly #writer: GroupCommit;
  readonly #reader: DatabaseSync;
  readonly #files: PayloadFiles;

  private constructor(writer: GroupCommit, reader: DatabaseSync, files: PayloadFiles) {
    this.#writer = writer;
    this.#reader = reader;
    this.#files = files;
  }

  static async open(file: string, folder: string, flusher: Flusher, random: Random): Promise<SqliteJournal> {
    const files = await PayloadFiles.open(folder, random);
    // Entries are decided on what earlier entries made: when one batch fails, those behind it rest on nothing.
    const journal = new SqliteJournal(new GroupCommit(flusher, { failTogether: true }), openForReading(file), files);
    await files.sweep((name) => journal.#sql("SELECT 1 FROM payloads WHERE file = ?").get(name) !== undefined);
    return journal;
  }

  get flushes(): number {
    return this.#writer.flushes;
  }

  async stash(payload: Payload): Promise<Stashed> {
    return { file: await this.#files.write(payload) };
  }

  async write(entries: Entry[]): Promise<unknown[]> {
    const { results, freed } = await this.#writer.run<{ results: unknown[]; freed: string[] }>("write", pack(entries));
    if (freed.length > 0) await this.#files.remove(freed);
    return results;
  }

  *live(): Iterable<{ row: JobRow; body: string | undefined }> {
    const rows = this.#sql(
      `SELECT ${COLUMNS}, body FROM jobs WHERE state IN ('IN_QUEUE', 'IN_PROGRESS') ORDER BY position`,
    ).iterate() as Iterable<unknown>;
    for (const row of rows as Iterable<Row & { body: string | null }>)
      yield { row: fromSql(row), body: row.body ?? undefined };
  }

  positions(): { lowest: number; highest: number } {
    const live = "state IN ('IN_QUEUE', 'IN_PROGRESS')";
    const row = this.#sql(
      `SELECT (SELECT min(position) FROM jobs WHERE ${live}) AS lowest, (SELECT max(position) FROM jobs WHERE ${live}) AS highest`,
    ).get() as { lowest: number | null; highest: number | null };
    return { lowest: Math.min(0, row.lowest ?? 0), highest: Math.max(0, row.highest ?? 0) };
  }

  find(id: string): JobRow | undefined {
    const row = this.#sql(`SELECT ${COLUMNS} FROM jobs WHERE id = ?`).get(id) as Row | undefined;
    return row && fromSql(row);
  }

  findKey(scoped: string): { id: string; digest: string } | undefined {
    return this.#sql("SELECT job AS id, digest FROM keys WHERE scoped = ?").get(scoped) as never;
  }

  async part(id: string, part: Part): Promise<Payload | undefined> {
    const row = this.#sql(`SELECT ${part} AS text FROM jobs WHERE id = ?`).get(id) as
      | { text: string | null }
      | undefined;
    if (row?.text != null) return row.text;
    const aside = this.#sql("SELECT text, file FROM payloads WHERE job = ? AND part = ?").get(id, part) as
      | { text: string | null; file: string | null }
      | undefined;
    return aside?.file ? this.#files.read(aside.file) : (aside?.text ?? undefined);
  }

  wasPurged(id: string, now: number): boolean {
    return this.#sql("SELECT 1 FROM purged WHERE id = ? AND until > ?").get(id, now) !== undefined;
  }

  list({ endpoint, states, offset, limit, now }: JobFilter): { rows: JobRow[]; total: number } {
    const where = `endpoint = ? AND (expires_at IS NULL OR expires_at > ?)
      ${states ? `AND state IN (${states.map(() => "?").join(", ")})` : ""}`;
    const values = [endpoint, now, ...(states ?? [])];
    const rows = this.#sql(`SELECT ${COLUMNS} FROM jobs WHERE ${where} ORDER BY id DESC LIMIT ? OFFSET ?`).all(
      ...values,
      limit,
      offset,
    ) as unknown as Row[];
    const { total } = this.#sql(`SELECT count(*) AS total FROM jobs WHERE ${where}`).get(...values) as {
      total: number;
    };
    return { rows: rows.map(fromSql), total };
  }

  chunks(id: string, after: { attempt: number; sequence: number }, limit: number): Chunk[] {
    return this.#sql(
      `SELECT job AS id, attempt, sequence, text FROM chunks
       WHERE job = ? AND (attempt, sequence) > (?, ?) ORDER BY attempt, sequence LIMIT ?`,
    ).all(id, after.attempt, after.sequence, limit) as unknown as Chunk[];
  }

  counters(endpoint: string): Record<Counter, number> {
    const row = this.#sql("SELECT completed, failed, retried FROM counters WHERE endpoint = ?").get(endpoint);
    return row ? (row as Record<Counter, number>) : { completed: 0, failed: 0, retried: 0 };
  }

  outgoing(now: number, limit: number): Outgoing[] {
    return this.#sql(
      "SELECT job, url, endpoint, tries, due_at AS dueAt FROM outbox WHERE due_at <= ? ORDER BY due_at LIMIT ?",
    ).all(now, limit) as unknown as Outgoing[];
  }

  hasExpired(now: number): boolean {
    const over =
      "SELECT 1 FROM jobs WHERE expires_at <= :now UNION ALL SELECT 1 FROM purged WHERE until <= :now LIMIT 1";
    return this.#sql(over).get({ now }) !== undefined;
  }

  scrub(): Promise<void> {
    return this.#writer.checkpoint();
  }

  async close(): Promise<void> {
    this.#reader.close();
    await this.#writer.close();
  }

  #sql(text: string) {
    return sql(this.#reader, text);
  }
}

function fromSql({ id, endpoint, state, position, expires_at: expiresAt, doc }: Row): JobRow {
  return { id, endpoint, state, position, expiresAt, doc };
}
