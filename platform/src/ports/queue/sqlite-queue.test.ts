/** The SQLite queue keeps the port's promises, with and without a writer thread. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realRandom } from "../../kernel/random.ts";
import { NOW, type OpenedQueue } from "./conformance-jobs.ts";
import { queueConformance } from "./queue.conformance.ts";
import { SqliteQueue } from "./sqlite-queue.ts";

async function openSqlite(thread: boolean): Promise<OpenedQueue> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-queue-"));
  let queue = await SqliteQueue.open(folder, { now: NOW, random: realRandom, thread });
  return {
    queue,
    async reopen(now) {
      await queue[Symbol.asyncDispose]();
      queue = await SqliteQueue.open(folder, { now, random: realRandom, thread });
      return queue;
    },
    another: { cannot: "a SQLite queue belongs to one process" },
    async [Symbol.asyncDispose]() {
      await queue[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

queueConformance("SqliteQueue with a writer thread", () => openSqlite(true));
queueConformance("SqliteQueue without a thread", () => openSqlite(false));
