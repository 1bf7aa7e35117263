/** The SQLite queue keeps the port's promises, whichever thread writes its file. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { realRandom } from "../../kernel/random.ts";
import { applyConformance } from "../../ports/queue/apply.conformance.ts";
import { History, printedSeed } from "../../ports/queue/conformance-history.ts";
import {
  apply,
  ENDPOINT,
  finish,
  NOW,
  newJob,
  type OpenedQueue,
  outgoing,
  policy,
  running,
  tellers,
} from "../../ports/queue/conformance-jobs.ts";
import { queueConformance } from "../../ports/queue/queue.conformance.ts";
import { restartConformance } from "../../ports/queue/restart.conformance.ts";
import { SqliteQueue } from "./sqlite-queue.ts";

async function openSqlite(writing: "near" | "inThread") {
  const folder = await mkdtemp(join(tmpdir(), "millrace-queue-"));
  const clock = new FakeClock();
  let queue = await SqliteQueue.open(folder, { clock, random: realRandom, writing });
  return {
    queue,
    file: join(folder, "queue.db"),
    payloads: join(folder, "payloads"),
    elapse: (ms: number) => clock.advance(ms),
    async reopen(between = () => {}) {
      await queue[Symbol.asyncDispose]();
      between();
      queue = await SqliteQueue.open(folder, { clock, random: realRandom, writing });
      return queue;
    },
    another: { cannot: "a SQLite queue belongs to one process" },
    async [Symbol.asyncDispose]() {
      await queue[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  } satisfies OpenedQueue & { file: string; payloads: string };
}

queueConformance("SqliteQueue", () => openSqlite("near"));

// Both ways of writing run the same program on the same file and hand large batches to the same thread. It only remains to show that writes
// in the thread are there when they are acknowledged, in their order, and after a restart.
describe.concurrent("SqliteQueue with everything in the writer thread", () => {
  describe("apply", () => applyConformance(() => openSqlite("inThread")));
  describe("restarts", () => restartConformance(() => openSqlite("inThread")));
});

test("files of outputs are there as long as a job has them, and what a crash left staged is removed at the start", async () => {
  await using opened = await openSqlite("near");
  const { queue } = opened;
  const files = () => readdir(opened.payloads);
  async function* pieces() {
    yield Buffer.from("0123456789");
  }
  async function* broken() {
    yield* pieces();
    throw new Error("broken off");
  }
  await expect(queue.outputs.stage(broken())).rejects.toThrow("broken off");
  expect(await files()).toEqual([]);
  const [kept, abandoned] = [await queue.outputs.stage(pieces()), await queue.outputs.stage(pieces())];
  await running(queue, newJob("j1"));
  await apply(queue, finish("j1", { set: { large: { key: kept, start: 0, bytes: 10 } } }));
  expect((await files()).sort()).toEqual([kept, abandoned].sort());
  const again = await opened.reopen();
  expect(await files()).toEqual([kept]);
  await again.expire(NOW + policy.retentionMs, 10);
  expect(await files()).toEqual([]);
});

test("messages in a file of an earlier format are sent in the turns of their jobs' callers", async () => {
  await using opened = await openSqlite("near");
  const webhooks = ["https://example.org/hook"];
  await running(opened.queue, newJob("own", { webhooks }));
  await running(opened.queue, newJob("called", { webhooks, caller: "someone" }));
  await apply(opened.queue, ...["own", "called"].map((id) => finish(id, { also: { webhook: true } })));
  const again = await opened.reopen(() => {
    using db = new DatabaseSync(opened.file);
    const { user_version: format } = db.prepare("PRAGMA user_version").get() as { user_version: number };
    db.exec(`DROP INDEX outbox_of_caller; DROP INDEX outbox_of_target; ALTER TABLE outbox DROP COLUMN caller;
      CREATE INDEX outbox_of_endpoint ON outbox (endpoint, due_at);
      CREATE INDEX outbox_of_target ON outbox (endpoint, target, due_at); PRAGMA user_version = ${format - 1}`);
  });
  expect(await tellers(again, NOW)).toEqual([ENDPOINT, `${ENDPOINT} someone`]);
  expect(await outgoing(again, NOW, { caller: "someone" })).toMatchObject([{ job: "called", url: webhooks[0] }]);
});

test.for(["near", "inThread"] as const)(
  "what many do at once, written %s, is one possible history, also after a restart",
  async (writing) => {
    await using opened = await openSqlite(writing);
    const history = new History([opened.queue], { seed: printedSeed(), tasks: 12, steps: 80 });
    await history.run();
    await history.check();
    await history.check([await opened.reopen()]);
  },
);
