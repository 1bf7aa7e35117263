/** The SQLite queue with flushes that a test can hold back or make fail. */
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { program } from "../src/adapters/sqlite/queue-program.ts";
import { SqliteJournal } from "../src/adapters/sqlite/sqlite-journal.ts";
import {
  type Command,
  type Flushed,
  type Flusher,
  inlineFlusher,
  type Program,
} from "../src/adapters/sqlite/writer.ts";
import { FakeClock } from "../src/kernel/clock.ts";
import { realRandom } from "../src/kernel/random.ts";
import { EmbeddedQueue } from "../src/ports/queue/embedded-queue.ts";
import type { Queue } from "../src/ports/queue/queue.ts";

/** The queue's own program, with a command that limits the size of its disk. */
const onSmallDisk: Program = {
  migrations: program.migrations,
  commands: { ...program.commands, limitPages: (db, pages: number) => db.exec(`PRAGMA max_page_count = ${pages}`) },
};

/** A real flusher that a test can hold back or make fail. */
class TestFlusher implements Flusher {
  readonly #real: Flusher;
  #open = Promise.resolve();
  #release = () => {};
  failures = 0;
  flushes = 0;

  constructor(file: string) {
    this.#real = inlineFlusher(file, onSmallDisk);
  }

  hold(): void {
    const gate = Promise.withResolvers<void>();
    this.#open = gate.promise;
    this.#release = gate.resolve;
  }

  release(): void {
    this.#release();
  }

  async flush(batch: Command[]): Promise<Flushed> {
    await this.#open;
    this.flushes++;
    if (this.failures === 0) return this.#real.flush(batch);
    this.failures--;
    return { failed: "no space left on device" };
  }

  checkpoint = () => this.#real.checkpoint();
  close = () => this.#real.close();
}

/** A queue on disk whose flushes a test can hold back, and how it would be after a crash. */
export async function setup() {
  const folder = await mkdtemp(join(tmpdir(), "millrace-queue-"));
  const file = join(folder, "queue.db");
  const payloads = join(folder, "payloads");
  const opened: Queue[] = [];
  async function open() {
    const flusher = new TestFlusher(file);
    const queue = new EmbeddedQueue(await SqliteJournal.open(file, payloads, flusher, realRandom), new FakeClock());
    opened.push(queue);
    return { queue, flusher };
  }
  return {
    ...(await open()),
    /** The queue as it would be if the process had ended at this moment. */
    afterCrash: async () => (await open()).queue,
    payloads: () => readdir(payloads),
    strayFile: () => writeFile(join(payloads, "stray"), "x"),
    async [Symbol.asyncDispose]() {
      for (const queue of opened) await queue[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}
