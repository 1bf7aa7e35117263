/** The queue of a single process on SQLite: the queue in memory plus a journal. */
import { join } from "node:path";
import type { Random } from "../../kernel/random.ts";
import type { Disk } from "../../ports/disk.ts";
import { EmbeddedQueue } from "../../ports/queue/embedded-queue.ts";
import type { MonotonicClock } from "../../ports/queue/holder-book.ts";
import type { Entry } from "../../ports/queue/journal.ts";
import { isBrief } from "./entry-wire.ts";
import { NearFlusher } from "./near-flusher.ts";
import { program } from "./queue-program.ts";
import { SqliteJournal } from "./sqlite-journal.ts";
import type { Upgrading } from "./upgrade.ts";
import { type Command, type Flusher, lateFlusher, threadFlusher } from "./writer.ts";

interface Surroundings {
  clock: MonotonicClock;
  random: Random;
  disk?: Disk;
  upgrading?: Upgrading;
  writing?: keyof typeof WRITING;
}

const inThread = (file: string) => threadFlusher(file, "queue", program.wire);

/** Where the file is written. A server keeps everything that takes longer than a moment off its event loop. */
const WRITING = {
  near: async (file: string, clock: MonotonicClock): Promise<Flusher> =>
    // Most installations never need the thread, which takes 100 ms of a start and 12 MB.
    new NearFlusher({ thread: lateFlusher(() => inThread(file)), file, program, clock, isBrief: isBriefBatch }),
  inThread,
};

const isBriefBatch = (batch: readonly Command[]) => isBrief(batch.map(({ input }) => input as Entry[]));

export class SqliteQueue extends EmbeddedQueue {
  readonly #journal: SqliteJournal;

  private constructor(journal: SqliteJournal, clock: MonotonicClock) {
    super(journal, clock);
    this.#journal = journal;
  }

  static async open(folder: string, surroundings: Surroundings): Promise<SqliteQueue> {
    const { clock, random, disk, upgrading, writing = "near" } = surroundings;
    const file = join(folder, "queue.db");
    if (upgrading) await (await import("./upgrade.ts")).upgrade(file, program.migrations, upgrading);
    const flusher = await WRITING[writing](file, clock);
    return new SqliteQueue(await SqliteJournal.open(file, join(folder, "payloads"), flusher, random, disk), clock);
  }

  /** How many flushes there were since the queue was opened. */
  get flushes(): number {
    return this.#journal.flushes;
  }
}
