/** The PostgreSQL queue keeps the port's promises, also when only the server could break them. */
import { expect, test } from "vitest";
import { cuttableProxy } from "../../../tests/cuttable-proxy.ts";
import { freshDatabase } from "../../../tests/database.ts";
import { realClock } from "../../kernel/clock.ts";
import { realRandom, SeededRandom } from "../../kernel/random.ts";
import { History, printedSeed } from "../../ports/queue/conformance-history.ts";
import {
  ANY,
  apply,
  claimIds,
  ENDPOINT,
  enqueue,
  finish,
  NOW,
  newJob,
  numbered,
  type OpenedQueue,
  outgoing,
  running,
  tellers,
} from "../../ports/queue/conformance-jobs.ts";
import { queueConformance } from "../../ports/queue/queue.conformance.ts";
import { standbyConformance } from "../../ports/queue/standby.conformance.ts";
import { openPool, query } from "./pool.ts";
import { PostgresQueue } from "./postgres-queue.ts";

async function openPostgres(): Promise<OpenedQueue> {
  const database = await freshDatabase();
  const open = () => PostgresQueue.open(database.url, { random: realRandom });
  let queue = await open();
  return {
    queue,
    elapse: (ms) => elapse(database.url, ms),
    async reopen() {
      await queue[Symbol.asyncDispose]();
      queue = await open();
      return queue;
    },
    another: open,
    async [Symbol.asyncDispose]() {
      await queue[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** The database's clock cannot be set for a test, so this moves the stored times closer instead. */
async function elapse(url: string, ms: number): Promise<void> {
  const admin = openPool(url, { connections: 1 });
  await query(admin, "UPDATE holders SET until = until - $1", [ms]);
  await admin.end();
}

queueConformance("PostgresQueue", openPostgres);
standbyConformance("PostgresQueue", openPostgres);

test("a server whose clock is ahead of the database's ends no job early, and removes no result", async () => {
  await using database = await freshDatabase();
  await using queue = await PostgresQueue.open(database.url, { random: realRandom });
  const [now, hourMs] = [realClock.now(), 3_600_000];
  const ofAnHour = { createdAt: now, policy: { ttlMs: hourMs, executionTimeoutMs: hourMs } };
  await queue.renew("w1", ENDPOINT, 30_000);
  await queue.enqueue([newJob("done", ofAnHour), newJob("runs", ofAnHour)]);
  await claimIds(queue, { now });
  await apply(queue, finish("done", { set: { endedAt: now, expiresAt: now + hourMs } }));
  await queue.enqueue([
    newJob("waits", ofAnHour),
    newJob("late", { createdAt: now - hourMs, policy: { ttlMs: 1000 } }),
  ]);
  const ahead = now + 48 * hourMs;
  expect((await queue.due(ahead, 9)).map(({ job }) => job.id)).toEqual(["late"]);
  expect(await queue.expire(ahead, 9)).toBe(0);
});

test("jobs that are inserted while a claim waits for its turn begin for it, and nothing else is claimed", async () => {
  await using database = await freshDatabase();
  await using queue = await PostgresQueue.open(database.url, { random: realRandom });
  const ask = { endpoint: ENDPOINT, bytes: ANY, now: NOW };
  const [[enqueued], claimed, other] = await Promise.all([
    queue.enqueue([newJob("j1")]),
    queue.claim({ ...ask, holder: "w1", limit: 9 }),
    queue.claim({ ...ask, holder: "w2", limit: 9 }),
  ]);
  expect(enqueued).toMatchObject({ hasBegun: true });
  expect(claimed).toMatchObject([{ job: { id: "j1", holder: "w1", attempt: 1 }, body: newJob("j1").body }]);
  expect(other).toEqual([]);
  expect(await queue.held("w1")).toEqual([claimed[0]!.job]);
});

test("a claim that waits for its turn gets the oldest job, not one that is inserted before it", async () => {
  await using database = await freshDatabase();
  await using queue = await PostgresQueue.open(database.url, { random: realRandom });
  await enqueue(queue, "old");
  const [[enqueued], ids] = await Promise.all([queue.enqueue([newJob("new")]), claimIds(queue, { limit: 1 })]);
  expect([enqueued!.hasBegun, ids, await claimIds(queue)]).toEqual([undefined, ["old"], ["new"]]);
});

test("messages of an earlier format, and of a node of an earlier release beside this one, are sent", async () => {
  await using database = await freshDatabase();
  const admin = openPool(database.url, { connections: 1 });
  const webhooks = ["https://example.org/hook"];
  {
    await using queue = await PostgresQueue.open(database.url, { random: realRandom });
    await running(queue, newJob("own", { webhooks }));
    await running(queue, newJob("called", { webhooks, caller: "someone" }));
    await apply(queue, ...["own", "called"].map((id) => finish(id, { also: { webhook: true } })));
    await queue.enqueue([newJob("late", { webhooks, caller: "someone" })]);
  }
  for (const step of [
    "ALTER TABLE outbox DROP COLUMN caller",
    "CREATE INDEX outbox_of_endpoint ON outbox (endpoint, due_at)",
    "CREATE INDEX outbox_of_target ON outbox (endpoint, target, due_at)",
    "UPDATE schema_versions SET version = version - 1 WHERE component = 'queue'",
  ])
    await query(admin, step);
  await using queue = await PostgresQueue.open(database.url, { random: realRandom });
  expect(await tellers(queue, NOW)).toEqual([ENDPOINT, `${ENDPOINT} someone`]);
  expect(await outgoing(queue, NOW, { caller: "someone" })).toMatchObject([{ job: "called", url: webhooks[0] }]);
  await queue.settle("own", webhooks[0]!, "done");
  const columns = "job, url, endpoint, target, tries, due_at";
  const values = ["late", webhooks[0], ENDPOINT, "https://example.org", 0, NOW];
  await query(admin, `INSERT INTO outbox (${columns}) VALUES ($1, $2, $3, $4, $5, $6)`, values);
  expect(await outgoing(queue, NOW)).toMatchObject([{ job: "late", caller: "" }]);
  await admin.end();
});

test("what a node that is gone left staged is removed after an hour, and what is being staged is not", async () => {
  await using database = await freshDatabase();
  await using queue = await PostgresQueue.open(database.url, { random: realRandom });
  const admin = openPool(database.url, { connections: 1 });
  async function* pieces() {
    yield Buffer.alloc(10);
  }
  const [old, young] = [await queue.outputs.stage(pieces()), await queue.outputs.stage(pieces())];
  const hourAgo = old.replace(/\d{13}/, (time) => String(Number(time) - 3_600_001));
  await query(admin, "UPDATE job_payloads SET job = $2 WHERE job = $1", [old, hourAgo]);
  await queue.expire(NOW, 10);
  expect(await query(admin, "SELECT job FROM job_payloads")).toEqual([{ job: young }]);
  await running(queue, newJob("j1"));
  const change = finish("j1", { set: { large: { key: hourAgo, start: 0, bytes: 10 } } });
  await expect(queue.apply([change])).rejects.toMatchObject({ code: "unavailable" });
  expect(await queue.held("w1")).toHaveLength(1);
  await admin.end();
});

test("a removal that waited for a job takes along what was written about others meanwhile", async () => {
  await using database = await freshDatabase();
  await using queue = await PostgresQueue.open(database.url, { random: realRandom });
  await using locks = await lockedJob(database.url);
  const webhooks = ["https://example.org"];
  await enqueue(queue, "locked");
  await running(queue, newJob("streams", { endpoint: "other", createdAt: NOW + 1 }));
  await running(queue, newJob("ends", { endpoint: "other", webhooks, createdAt: NOW + 2 }));
  await query(locks.admin, "UPDATE jobs SET endpoint = $1", [ENDPOINT]);
  await locks.lock("locked");
  const removing = queue.removeEndpoint(ENDPOINT);
  await locks.awaited();
  await queue.append("w1", [{ id: "streams", attempt: 1, sequence: 1, text: "1" }]);
  await apply(queue, finish("ends", { result: Buffer.from(`"${"x".repeat(400_000)}"`), also: { webhook: true } }));
  await locks.unlock();
  await removing;
  for (const table of ["jobs", "job_chunks", "job_payloads", "outbox"])
    expect([table, await query(locks.admin, `SELECT 1 FROM ${table}`)]).toEqual([table, []]);
});

test("a purge that waited for a job takes along the new body of another one", async () => {
  await using database = await freshDatabase();
  await using queue = await PostgresQueue.open(database.url, { random: realRandom });
  await using locks = await lockedJob(database.url);
  await enqueue(queue, "locked");
  await queue.enqueue([newJob("sealed", { sealed: true })]);
  await locks.lock("locked");
  const purging = queue.purge(ENDPOINT, NOW);
  await locks.awaited();
  await queue.reseal(() => `"${"x".repeat(400_000)}"`);
  await locks.unlock();
  expect(await purging).toEqual(["locked", "sealed"]);
  expect(await query(locks.admin, "SELECT 1 FROM job_payloads")).toEqual([]);
  expect(await queue.counts(ENDPOINT)).toMatchObject({ inQueue: 0 });
});

test("what many do at once through three nodes is one possible history", async () => {
  await using database = await freshDatabase();
  // The nodes have the same random numbers and so the same counters, which makes them conflict as often as possible.
  const open = () => PostgresQueue.open(database.url, { random: new SeededRandom(1) });
  await using one = await open();
  await using two = await open();
  await using three = await open();
  const history = new History([one, two, three], { seed: printedSeed(), tasks: 24, steps: 60 });
  await history.run();
  await history.check();
  expect(Math.min(...Object.values(history.tally))).toBeGreaterThan(0);
});

test("an outage is named as such, loses nothing acknowledged, and is over by itself", async () => {
  await using database = await freshDatabase();
  await using proxy = await cuttableProxy(database.url);
  await using queue = await PostgresQueue.open(proxy.url, { random: realRandom });
  await queue.renew("w1", ENDPOINT, 10);
  await running(queue, newJob("runs"));
  await enqueue(queue, "waits");
  await proxy.cut();
  const refused = [
    queue.enqueue([newJob("lost")]),
    queue.claim({ endpoint: ENDPOINT, holder: "w1", limit: 1, bytes: ANY, now: NOW }),
    queue.apply([finish("runs")]),
    queue.read("waits", NOW),
    queue.renew("w1", ENDPOINT, 10),
  ];
  const settled = await Promise.allSettled(refused);
  expect(settled).toMatchObject(settled.map(() => ({ reason: { code: "unavailable" } })));
  await proxy.mend();
  expect(await claimIds(queue)).toEqual(["waits"]);
  await apply(queue, finish("runs"));
  expect(await queue.read("lost", NOW)).toBeUndefined();
});

test("after an outage, holders get a grace before their jobs are due", async () => {
  await using database = await freshDatabase();
  await using proxy = await cuttableProxy(database.url);
  await using queue = await PostgresQueue.open(proxy.url, { random: realRandom });
  await queue.renew("w1", ENDPOINT, 10);
  await running(queue, newJob("j1"));
  await proxy.cut();
  await expect(queue.due(NOW, 9)).rejects.toMatchObject({ code: "unavailable" });
  await elapse(database.url, 1_000);
  await proxy.mend();
  expect(await queue.due(NOW, 9)).toEqual([]);
  await elapse(database.url, 25_000);
  expect(await queue.due(NOW, 9)).toEqual([]);
  await elapse(database.url, 5_000);
  expect(await queue.due(NOW, 9)).toMatchObject([{ job: { id: "j1" }, why: "holder" }]);
});

test("connections that the server ends one by one are replaced", async () => {
  await using database = await freshDatabase();
  await using queue = await PostgresQueue.open(database.url, { random: realRandom });
  await enqueue(queue, "j1");
  const admin = openPool(database.url, { connections: 1 });
  await admin.query(
    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  await admin.end();
  expect(await claimIds(queue)).toEqual(["j1"]);
});

test("claims and finishes find their way along indexes, also where the plan was made on an empty queue", async () => {
  await using database = await freshDatabase();
  const queue = await PostgresQueue.open(database.url, { random: realRandom });
  for (const id of numbered(10, "first")) {
    await running(queue, newJob(id));
    await apply(queue, finish(id));
  }
  await queue.enqueue(numbered(5_000).map((id) => newJob(id)));
  for (let round = 0; round < 10; round++) {
    const except = round % 2 === 0 ? [] : numbered(10, "first");
    const ids = await claimIds(queue, { limit: 10, except });
    await apply(queue, ...ids.map((id) => finish(id)));
  }
  // Connections report their statistics when they end.
  await queue[Symbol.asyncDispose]();
  const admin = openPool(database.url, { connections: 1 });
  const [read] = await query<{ rows: number; calls: number }>(
    admin,
    "SELECT seq_tup_read + idx_tup_fetch AS rows, n_tup_upd AS calls FROM pg_stat_user_tables WHERE relname = 'jobs'",
  );
  await admin.end();
  expect(read!.calls).toBe(220);
  // A claim and a finish each read a job twice. A plan that reads the whole table would read 5,000 rows each time.
  expect(read!.rows).toBeLessThan(2_000);
});

const LOCK_WAITS = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/** Holds the lock of a job's row, as a slow change does, until it is told to let go. */
async function lockedJob(url: string) {
  const admin = openPool(url, { connections: 1 });
  const holder = openPool(url, { connections: 1 });
  const client = await holder.connect();
  return {
    admin,
    async lock(id: string) {
      await client.query("BEGIN");
      await client.query("SELECT FROM jobs WHERE id = $1 FOR UPDATE", [id]);
    },
    /** Resolves once somebody waits for the lock. */
    async awaited() {
      while ((await query(admin, LOCK_WAITS)).length === 0);
    },
    unlock: () => client.query("COMMIT"),
    async [Symbol.asyncDispose]() {
      client.release();
      await Promise.all([admin.end(), holder.end()]);
    },
  };
}
