/** The store in one SQLite file: written by group commit in a thread, read on the calling thread. */
import type { DatabaseSync } from "node:sqlite";
import { type Clock, realClock } from "../../kernel/clock.ts";
import { frozen } from "../../kernel/frozen.ts";
import { isStorable } from "../../kernel/storable.ts";
import { anyDisk, type Disk } from "../../ports/disk.ts";
import {
  type Counting,
  type Lease,
  type Listing,
  type Store,
  type StoredRecord,
  type UniqueKey,
  type Write,
  WriteRefused,
} from "../../ports/store/store.ts";
import { type Head, KnownRecords } from "./known-records.ts";
import { Scrubber } from "./scrubber.ts";
import { sql } from "./statement.ts";
import {
  areStorable,
  type Committed,
  counted,
  fromRow,
  program,
  type Row,
  selected,
  writtenRow,
} from "./store-program.ts";
import type { Upgrading } from "./upgrade.ts";
import { GroupCommit, inlineFlusher, openForReading, refuseNew, threadFlusher } from "./writer.ts";

interface StoreOptions {
  thread?: boolean;
  clock?: Clock;
  disk?: Disk | undefined;
  /** Without it, a file of an older release is upgraded silently. */
  upgrading?: Upgrading | undefined;
}

export class SqliteStore implements Store {
  readonly #writer: GroupCommit;
  readonly #reader: DatabaseSync;
  readonly #scrubber: Scrubber;
  readonly #disk: Disk;
  readonly #known = new KnownRecords();

  private constructor(writer: GroupCommit, reader: DatabaseSync, clock: Clock, disk: Disk) {
    this.#disk = disk;
    this.#writer = writer;
    this.#reader = reader;
    this.#scrubber = new Scrubber(() => writer.checkpoint(), clock);
  }

  /** `thread: false` suits a command that runs once and ends. A server keeps its event loop free. */
  static async open(file: string, options: StoreOptions = {}): Promise<SqliteStore> {
    const { thread = true, clock = realClock, disk = anyDisk, upgrading } = options;
    if (upgrading) await (await import("./upgrade.ts")).upgrade(file, program.migrations, upgrading);
    const flusher = thread ? await threadFlusher(file, "store") : inlineFlusher(file, program);
    const store = new SqliteStore(new GroupCommit(flusher, { disk }), openForReading(file), clock, disk);
    // A crash may have come before removed text had left the log.
    if (thread) store.#scrubber.soon();
    return store;
  }

  /** How many flushes there were since the store was opened. */
  get flushes(): number {
    return this.#writer.flushes;
  }

  async commit(writes: Write[]): Promise<StoredRecord[]> {
    if (writes.every((write) => write.do === "insert")) refuseNew(this.#disk);
    const outcome = await this.#writer.run<Committed>("commit", writes);
    if ("refused" in outcome) throw new WriteRefused(outcome.refused, outcome.index);
    if (writes.some((write) => write.do !== "insert")) this.#scrubber.soon();
    for (const write of writes) if (write.do === "remove") this.#known.forget(write.kind, write.id);
    return outcome.written.map(writtenRow);
  }

  async get(kind: string, id: string): Promise<StoredRecord | undefined> {
    if (!isStorable(id)) return undefined;
    const row = this.#sql("SELECT * FROM records WHERE kind = ? AND id = ?").get(kind, id) as Row | undefined;
    return row && fromRow(row);
  }

  async find(kind: string, { scope, name, value }: UniqueKey): Promise<StoredRecord | undefined> {
    if (!isStorable(value)) return undefined;
    const row = this.#sql(
      `SELECT records.* FROM unique_keys JOIN records USING (kind, id)
       WHERE kind = ? AND scope = ? AND name = ? AND value = ?`,
    ).get(kind, scope, name, value) as Row | undefined;
    return row && fromRow(row);
  }

  async list({ after, limit, ...selection }: Listing): Promise<StoredRecord[]> {
    const { from, where, values } = selected(selection);
    if (!areStorable(values)) return [];
    // The columns name the table that gives the order. The other table's columns are equal but have no index for it.
    const [createdAt, id] = [`${from.order}.created_at`, `${from.order}.id`];
    const beyond = after ? `AND (${createdAt}, ${id}) < (:createdAt, :id)` : "";
    const heads = this.#sql(
      `SELECT records.id, records.version, records.created_at FROM ${from.tables} WHERE ${where} ${beyond}
       ORDER BY ${createdAt} DESC, ${id} DESC LIMIT :limit`,
    );
    const given = { ...values, limit, ...(after ? { createdAt: after.createdAt, id: after.id } : {}) };
    return this.#atOneMoment(() =>
      (heads.all(given) as unknown as Head[]).map((head) => this.#recordOf(selection.kind, head)),
    );
  }

  #recordOf(kind: string, head: Head): StoredRecord {
    return this.#known.get(kind, head) ?? this.#learn(kind, head.id);
  }

  #learn(kind: string, id: string): StoredRecord {
    const row = this.#sql("SELECT * FROM records WHERE kind = ? AND id = ?").get(kind, id) as unknown as Row;
    const record = frozen(fromRow(row));
    this.#known.keep(record, row.doc.length);
    return record;
  }

  /** All reads inside see one state of the file, even while the thread writes. */
  #atOneMoment<T>(read: () => T): T {
    this.#reader.exec("BEGIN");
    try {
      return read();
    } finally {
      this.#reader.exec("COMMIT");
    }
  }

  async count(counting: Counting): Promise<number> {
    return counted(this.#reader, counting);
  }

  scrub(): Promise<boolean> {
    return this.#scrubber.now();
  }

  stamp(kind: string): number {
    const row = this.#sql("SELECT commits FROM stamps WHERE kind = ?").get(kind) as { commits: number } | undefined;
    return row?.commits ?? 0;
  }

  async removeAccount(account: string): Promise<void> {
    await this.#writer.run("removeAccount", account);
    this.#known.forgetAll();
    await this.#scrubber.now();
  }

  lease(ask: Lease): Promise<number | undefined> {
    return this.#writer.run("lease", ask);
  }

  async release(name: string, holder: string): Promise<void> {
    await this.#writer.run("release", { name, holder });
  }

  async removeLease(name: string, now: number): Promise<void> {
    await this.#writer.run("removeLease", { name, now });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The reader closes first: the last connection to close folds the write-ahead log into the file.
    this.#reader.close();
    await this.#scrubber.close();
    await this.#writer.close();
  }

  #sql(text: string) {
    return sql(this.#reader, text);
  }
}
