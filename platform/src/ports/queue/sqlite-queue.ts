/** The queue of a single process on SQLite: the queue in memory plus a journal. */
import { join } from "node:path";
import type { Random } from "../../kernel/random.ts";
import { inlineFlusher, threadFlusher } from "../sqlite/writer.ts";
import { EmbeddedQueue } from "./embedded-queue.ts";
import type { MonotonicClock } from "./holder-book.ts";
import { SqliteJournal } from "./sqlite-journal.ts";
import { program } from "./sqlite-program.ts";

export class SqliteQueue extends EmbeddedQueue {
  readonly #journal: SqliteJournal;

  private constructor(journal: SqliteJournal, clock: MonotonicClock) {
    super(journal, clock);
    this.#journal = journal;
  }

  static async open(
    folder: string,
    { clock, random, thread = true }: { clock: MonotonicClock; random: Random; thread?: boolean },
  ): Promise<SqliteQueue> {
    const file = join(folder, "queue.db");
    const flusher = thread
      ? await threadFlusher(file, new URL("./sqlite-program.ts", import.meta.url))
      : inlineFlusher(file, program);
    return new SqliteQueue(await SqliteJournal.open(file, join(folder, "payloads"), flusher, random), clock);
  }

  /** How many flushes were made since the queue was opened. */
  get flushes(): number {
    return this.#journal.flushes;
  }
}
