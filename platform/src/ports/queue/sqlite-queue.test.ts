/** The SQLite queue keeps the port's promises, with and without a writer thread. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { realRandom } from "../../kernel/random.ts";
import { History, printedSeed } from "./conformance-history.ts";
import type { OpenedQueue } from "./conformance-jobs.ts";
import { queueConformance } from "./queue.conformance.ts";
import { SqliteQueue } from "./sqlite-queue.ts";

async function openSqlite(thread: boolean) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-queue-"));
  const clock = new FakeClock();
  let queue = await SqliteQueue.open(folder, { clock, random: realRandom, thread });
  return {
    queue,
    elapse: (ms: number) => clock.advance(ms),
    async reopen() {
      await queue[Symbol.asyncDispose]();
      queue = await SqliteQueue.open(folder, { clock, random: realRandom, thread });
      return queue;
    },
    another: { cannot: "a SQLite queue belongs to one process" },
    async [Symbol.asyncDispose]() {
      await queue[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  } satisfies OpenedQueue;
}

queueConformance("SqliteQueue with a writer thread", () => openSqlite(true));
queueConformance("SqliteQueue without a thread", () => openSqlite(false));

test("what many do at once through a writer thread is one possible history, also after a restart", async () => {
  await using opened = await openSqlite(true);
  const history = new History([opened.queue], { seed: printedSeed(), tasks: 12, steps: 80 });
  await history.run();
  await history.check();
  await history.check([await opened.reopen()]);
});
