/** The SQLite queue keeps the port's promises, wherever its file is written. */
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

async function openSqlite(writing: "near" | "inThread") {
  const folder = await mkdtemp(join(tmpdir(), "millrace-queue-"));
  const clock = new FakeClock();
  let queue = await SqliteQueue.open(folder, { clock, random: realRandom, writing });
  return {
    queue,
    elapse: (ms: number) => clock.advance(ms),
    async reopen() {
      await queue[Symbol.asyncDispose]();
      queue = await SqliteQueue.open(folder, { clock, random: realRandom, writing });
      return queue;
    },
    another: { cannot: "a SQLite queue belongs to one process" },
    async [Symbol.asyncDispose]() {
      await queue[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  } satisfies OpenedQueue;
}

queueConformance("SqliteQueue with a writer thread beside it", () => openSqlite("near"));
queueConformance("SqliteQueue with everything in the writer thread", () => openSqlite("inThread"));

test("what many do at once through a writer thread is one possible history, also after a restart", async () => {
  await using opened = await openSqlite("near");
  const history = new History([opened.queue], { seed: printedSeed(), tasks: 12, steps: 80 });
  await history.run();
  await history.check();
  await history.check([await opened.reopen()]);
});
