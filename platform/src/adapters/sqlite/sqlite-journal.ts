/** The journal in one SQLite file: written by group commit, read on the calling thread. */
import type { DatabaseSync } from "node:sqlite";
import { type Admit, UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import { realClock } from "../../kernel/clock.ts";
import type { Random } from "../../kernel/random.ts";
import { anyDisk, type Disk } from "../../ports/disk.ts";
import { fittingChunks } from "../../ports/queue/fitting.ts";
import { jobLifecycle, type Payload } from "../../ports/queue/job.ts";
import type { Binding, Entry, JobRow, Journal, Stashed, StoredBody, Written } from "../../ports/queue/journal.ts";
import { pageOf, TARGETS_IN_A_PAGE, tellersPageOf } from "../../ports/queue/outgoing.ts";
import type {
  ChargeFilter,
  Charges,
  Chunk,
  ChunkPlace,
  Counter,
  JobFilter,
  LargeOutputs,
  Outgoing,
  OutgoingAsk,
  OutgoingPage,
  Part,
  Teller,
  TellersAsk,
  TellersPage,
} from "../../ports/queue/queue.ts";
import { PayloadFiles } from "./payload-files.ts";
import type { Results } from "./queue-program.ts";
import { Scrubber } from "./scrubber.ts";
import { chargedByKey, readCharges } from "./sqlite-charges.ts";
import { type Listed, SqliteLists } from "./sqlite-lists.ts";
import { sql } from "./statement.ts";
import { type Flusher, GroupCommit, openForReading, refuseNew } from "./writer.ts";

interface Row {
  id: string;
  endpoint: string;
  state: JobRow["state"];
  position: number;
  created_at: number;
  expires_at: number | null;
  doc: string;
}

type LiveValues = [
  id: string,
  position: number,
  createdAt: number,
  endpoint: string | null,
  state: JobRow["state"] | null,
  doc: string | null,
  body: string | null,
];

const COLUMNS = "id, endpoint, state, position, created_at, expires_at, doc";

/** Live jobs are read in slices of this size. Reading them one by one would double the cost. */
const LIVE_SLICE = 2000;

/** A job does not change this often between two reads. If the file is still missing then, it is lost. */
const READ_ATTEMPTS = 5;

export class SqliteJournal implements Journal {
  readonly #writer: GroupCommit;
  readonly #reader: DatabaseSync;
  readonly #files: PayloadFiles;
  readonly #lists: SqliteLists;
  readonly #scrubber: Scrubber;
  readonly #disk: Disk;
  readonly outputs: LargeOutputs = {
    stage: (pieces) => this.#files.write(pieces),
    unstage: (key) => this.discard([{ file: key }]),
    open: async (job, { key, start, bytes }) =>
      this.#outputOf(job) === key ? this.#files.stretch(key, start, bytes) : undefined,
  };
  #failed: () => void = () => {};

  private constructor(flusher: Flusher, file: string, files: PayloadFiles, disk: Disk) {
    // Entries build on the effects of earlier ones. When one batch fails, the entries behind it are invalid too.
    this.#writer = new GroupCommit(flusher, { failTogether: () => this.#failed(), disk });
    this.#scrubber = new Scrubber(() => this.#writer.checkpoint(), realClock);
    this.#reader = openForReading(file);
    this.#lists = new SqliteLists(file);
    this.#files = files;
    this.#disk = disk;
  }

  static async open(
    file: string,
    folder: string,
    flusher: Flusher,
    random: Random,
    disk: Disk = anyDisk,
  ): Promise<SqliteJournal> {
    const files = await PayloadFiles.open(folder, random);
    const journal = new SqliteJournal(flusher, file, files, disk);
    await files.sweep((name) => journal.#refersTo(name));
    return journal;
  }

  get flushes(): number {
    return this.#writer.flushes;
  }

  refuseNew(): void {
    refuseNew(this.#disk);
  }

  async stash(payload: Payload): Promise<Stashed> {
    return { file: await this.#files.write(payload) };
  }

  async discard(stashed: readonly Stashed[]): Promise<void> {
    // A row may refer to the file after all: a writer that broke off cannot tell whether its last batch was committed.
    const files = stashed.flatMap((payload) => (typeof payload === "string" ? [] : [payload.file]));
    await this.#removeFiles(files.filter((name) => !this.#refersTo(name)));
  }

  write(entries: Entry[]): Promise<unknown[]> {
    return this.#writer.run<Results | undefined>("write", entries).then(this.#results);
  }

  /** Nearly all writes return nothing, and then nothing is awaited. */
  readonly #results = (written: Results | undefined): unknown[] | Promise<unknown[]> =>
    written ? this.#removeFiles(written.freed).then(() => written.results) : [];

  whenFailed(action: () => void): void {
    this.#failed = action;
  }

  /** Reads arrays instead of objects, and leaves out bodies that nobody wants: a million objects would cost seconds. */
  live(wantsBody: () => boolean, visit: (row: JobRow, body: string | undefined) => void): void {
    const row: JobRow = {
      id: "",
      endpoint: "",
      state: jobLifecycle.begin("IN_QUEUE"),
      position: Number.MIN_SAFE_INTEGER,
      createdAt: 0,
      expiresAt: null,
      doc: "",
    };
    for (;;) {
      const common = { ...row };
      const slice = this.#liveSlice(common, wantsBody());
      for (const [id, position, createdAt, endpoint, state, doc, body] of slice) {
        row.id = id;
        row.position = position;
        row.createdAt = createdAt;
        row.endpoint = endpoint ?? common.endpoint;
        row.state = state ?? common.state;
        row.doc = doc ?? common.doc;
        visit(row, body ?? undefined);
      }
      if (slice.length < LIVE_SLICE) return;
    }
  }

  /**
   * One slice of live jobs. A value that equals the one in `common` arrives as null, since creating a text for each row costs more than
   * comparing it.
   */
  #liveSlice(common: JobRow, withBody: boolean): LiveValues[] {
    const rows = this.#sql(
      `SELECT id, position, created_at, nullif(endpoint, ?), nullif(state, ?), nullif(doc, ?), ${withBody ? "body" : "NULL"}
       FROM jobs WHERE state IN ('IN_QUEUE', 'IN_PROGRESS') AND position > ? ORDER BY position LIMIT ${LIVE_SLICE}`,
    );
    rows.setReturnArrays(true);
    const { endpoint, state, doc, position } = common;
    return rows.all(endpoint, state, doc, position) as unknown[] as LiveValues[];
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

  sealed(after: string, limit: number): string[] {
    const rows = this.#sql(
      "SELECT id FROM jobs WHERE id > ? AND json_extract(doc, '$.sealed') = 1 ORDER BY id LIMIT ?",
    ).all(after, limit) as { id: string }[];
    return rows.map(({ id }) => id);
  }

  body(id: string): StoredBody | undefined {
    const stashed = this.#part(id, "body");
    if (stashed === undefined) return undefined;
    if (typeof stashed === "string") return { bytes: Buffer.byteLength(stashed), read: () => stashed };
    return { bytes: this.#files.bytes(stashed.file), read: () => this.#files.read(stashed.file) };
  }

  async read(id: string, parts: readonly Part[], admit?: Admit): Promise<Written | undefined> {
    let admitted = 0;
    for (let attempt = 1; ; attempt++) {
      const found = this.#inOneMoment(() => ({
        row: this.find(id),
        stashed: parts.map((part) => this.#part(id, part)),
      }));
      if (!found.row) return undefined;
      const bytes = this.#bytesOf(found.stashed);
      // Another attempt may find a longer payload.
      if (admit && bytes > Math.max(admitted, UNCOUNTED_BYTES)) {
        await admit(bytes - admitted);
        admitted = bytes;
      }
      const payloads = await Promise.all(found.stashed.map((stashed) => this.#load(stashed)));
      // A file that is gone belonged to an earlier state of the job, so the new state is read.
      const gone = payloads.some((payload, i) => payload === undefined && found.stashed[i] !== undefined);
      if (gone && attempt < READ_ATTEMPTS) continue;
      const known = parts.map((part, i) => [part, payloads[i]]).filter(([, payload]) => payload !== undefined);
      return { row: found.row, parts: Object.fromEntries(known) };
    }
  }

  wasPurged(id: string, now: number): boolean {
    return this.#sql("SELECT 1 FROM purged WHERE id = ? AND until > ?").get(id, now) !== undefined;
  }

  list(filter: JobFilter): Promise<Listed> {
    return this.#lists.list(filter);
  }

  chunks(id: string, after: ChunkPlace, limit: number, bytes?: number): Chunk[] {
    const rows = this.#sql(
      `SELECT job AS id, attempt, sequence, text FROM chunks
       WHERE job = ? AND (attempt, sequence) > (?, ?) ORDER BY attempt, sequence LIMIT ?`,
    ).iterate(id, after.attempt, after.sequence, limit);
    return fittingChunks(rows as Iterable<unknown> as Iterable<Chunk>, bytes);
  }

  counters(endpoint: string): Record<Counter, number> {
    const row = this.#sql("SELECT completed, failed, retried FROM counters WHERE endpoint = ?").get(endpoint);
    return row ? (row as Record<Counter, number>) : { completed: 0, failed: 0, retried: 0 };
  }

  chargedByKey(key: string, fromHour: number): number {
    return chargedByKey(this.#reader, key, fromHour);
  }

  bindings(): Binding[] {
    return this.#sql("SELECT holder, endpoint, caller FROM bindings").all() as unknown as Binding[];
  }

  charges(filter: ChargeFilter): Charges[] {
    return readCharges(this.#reader, filter);
  }

  /** Steps from teller to teller along the index, however many messages each has. */
  tellers({ now, limit, after }: TellersAsk): TellersPage {
    const next = this.#sql(
      "SELECT endpoint, caller FROM outbox WHERE (endpoint, caller) > (?, ?) ORDER BY endpoint, caller LIMIT 1",
    );
    const due = this.#sql("SELECT 1 FROM outbox WHERE endpoint = ? AND caller = ? AND due_at <= ? LIMIT 1");
    const seen: (Teller & { isDue: boolean })[] = [];
    let { endpoint, caller } = after ?? { endpoint: "", caller: "" };
    while (seen.length < limit) {
      const row = next.get(endpoint, caller) as unknown as Teller | undefined;
      if (!row) break;
      ({ endpoint, caller } = row);
      seen.push({ endpoint, caller, isDue: due.get(endpoint, caller, now) !== undefined });
    }
    return tellersPageOf(seen, limit);
  }

  /** Steps from target to target in the same way. */
  outgoing(ask: OutgoingAsk): OutgoingPage {
    const next = this.#sql(
      `SELECT job, url, endpoint, caller, target, tries, due_at AS dueAt FROM outbox
       WHERE endpoint = ? AND caller = ? AND target > ? ORDER BY target, due_at LIMIT 1`,
    );
    const heads: Outgoing[] = [];
    let after = ask.after ?? "";
    while (heads.length < TARGETS_IN_A_PAGE) {
      const head = next.get(ask.endpoint, ask.caller, after) as unknown as Outgoing | undefined;
      if (!head) break;
      heads.push(head);
      after = head.target;
    }
    return pageOf(heads, ask);
  }

  hasExpired(now: number): boolean {
    const over =
      "SELECT 1 FROM jobs WHERE expires_at <= :now UNION ALL SELECT 1 FROM purged WHERE until <= :now LIMIT 1";
    return this.#sql(over).get({ now }) !== undefined;
  }

  async scrub(): Promise<void> {
    await this.#scrubber.now();
  }

  async close(): Promise<void> {
    await this.#scrubber.close();
    // The order matters: when the last batch fails, the file is read once more.
    await this.#writer.close();
    this.#reader.close();
    await this.#lists.close();
  }

  #part(id: string, part: Part): Stashed | undefined {
    const row = this.#sql(`SELECT ${part} AS text FROM jobs WHERE id = ?`).get(id) as
      | { text: string | null }
      | undefined;
    if (row?.text != null) return row.text;
    const aside = this.#sql("SELECT text, file FROM payloads WHERE job = ? AND part = ?").get(id, part) as
      | { text: string | null; file: string | null }
      | undefined;
    return aside?.file ? { file: aside.file } : (aside?.text ?? undefined);
  }

  #bytesOf(stashed: readonly (Stashed | undefined)[]): number {
    const bytes = (one: Stashed | undefined) =>
      typeof one === "object" ? this.#files.bytes(one.file) : Buffer.byteLength(one ?? "");
    return stashed.reduce((sum, one) => sum + bytes(one), 0);
  }

  async #load(stashed: Stashed | undefined): Promise<Payload | undefined> {
    return typeof stashed === "object" ? this.#files.read(stashed.file) : stashed;
  }

  #inOneMoment<T>(read: () => T): T {
    this.#reader.exec("BEGIN");
    try {
      return read();
    } finally {
      this.#reader.exec("COMMIT");
    }
  }

  #outputOf(job: string): string | undefined {
    const row = this.#sql("SELECT file FROM payloads WHERE job = ? AND part = 'output'").get(job);
    return (row as { file: string } | undefined)?.file;
  }

  #refersTo(file: string): boolean {
    return this.#sql("SELECT 1 FROM payloads WHERE file = ?").get(file) !== undefined;
  }

  /** A file that cannot be removed now is swept at the next start. It is no reason to fail a write that succeeded. */
  async #removeFiles(names: readonly string[]): Promise<void> {
    if (names.length > 0) await this.#files.remove(names).catch(() => undefined);
  }

  #sql(text: string) {
    return sql(this.#reader, text);
  }
}

function fromSql({ id, endpoint, state, position, created_at, expires_at, doc }: Row): JobRow {
  return { id, endpoint, state, position, createdAt: created_at, expiresAt: expires_at, doc };
}
