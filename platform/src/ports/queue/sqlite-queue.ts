/** The queue of a single process on SQLite: the queue in memory plus a journal. */
import { join } from "node:path";
import type { Random } from "../../kernel/random.ts";
import { inlineFlusher, threadFlusher } from "../sqlite/writer.ts";
import { EmbeddedQueue } from "./embedded-queue.ts";
import { SqliteJournal } from "./sqlite-journal.ts";
import { program } from "./sqlite-program.ts";

export class SqliteQueue extends EmbeddedQueue {
  readonly #journal: SqliteJournal;

  private constructor(journal: SqliteJournal, now: number) {
    super(journal, now);
    this.#journal = journal;
  }

  static async open(
    folder: string,
    { now, random, thread = true }: { now: number; random: Random; thread?: boolean },
  ): Promise<SqliteQueue> {
    const file = join(folder, "queue.db");
    const flusher = thread
      ? await threadFlusher(file, new URL("./sqlite-program.ts", import.meta.url))
      : inlineFlusher(file, program);
    return new SqliteQueue(await SqliteJournal.open(file, join(folder, "payloads"), flusher, random), now);
  }

  /** How many flushes were made since the queue was opened. */
  get flushes(): number {
    return this.#journal.flushes;
  }
}
