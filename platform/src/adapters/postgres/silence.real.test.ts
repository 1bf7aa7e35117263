/** When a database is connected but silent, callers get an error in time, and the server finds it again by itself. */
import { expect, test } from "vitest";
import { cuttableProxy } from "../../../tests/cuttable-proxy.ts";
import { freshDatabase } from "../../../tests/database.ts";
import { FakeClock, realClock } from "../../kernel/clock.ts";
import { realRandom } from "../../kernel/random.ts";
import {
  ANY,
  apply,
  claimIds,
  ENDPOINT,
  enqueue,
  finish,
  NOW,
  newJob,
  running,
} from "../../ports/queue/conformance-jobs.ts";
import { listener } from "../../ports/signals/signals.conformance.ts";
import { insertOf, seed } from "../../ports/store/conformance-records.ts";
import { endPool, openPool, query, transaction } from "./pool.ts";
import { PostgresLimits } from "./postgres-limits.ts";
import { PostgresQueue } from "./postgres-queue.ts";
import { PostgresSignals } from "./postgres-signals.ts";
import { PostgresStore } from "./postgres-store.ts";
import { PostgresPresence } from "./presence.ts";

/** Shorter than any wait of a test, and long enough for a statement on a busy machine. */
const patience = { answerMs: 1000 };
const WINDOW = [{ name: "minute", seconds: 60, quota: 1000 }];
/** Only the locks of this test's database, since other tests use the same server. */
const ADVISORY_LOCKS = `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
  WHERE locktype = 'advisory' AND datname = current_database()`;
/** More than the connections of a pool. */
const MANY = Array.from({ length: 40 }, (_, i) => i);

async function setup() {
  const opened = new AsyncDisposableStack();
  const database = opened.use(await freshDatabase());
  const proxy = opened.use(await cuttableProxy(database.url));
  return { database, proxy, opened, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function expectSilence(asked: Promise<unknown>[]): Promise<void> {
  const settled = await Promise.allSettled(asked);
  expect(settled).toMatchObject(
    settled.map(() => ({
      reason: { code: "unavailable", message: expect.stringContaining("did not answer in time") },
    })),
  );
}

test("whatever is asked of a silent database is refused, and done once it speaks again", async () => {
  await using world = await setup();
  const { proxy, opened } = world;
  const store = opened.use(await PostgresStore.open(proxy.url, patience));
  const limits = opened.use(await PostgresLimits.open(proxy.url, patience));
  const queue = opened.use(await PostgresQueue.open(proxy.url, { random: realRandom, ...patience }));
  await seed(store, { id: "t1" });
  await running(queue, newJob("runs"));
  await enqueue(queue, "waits");
  proxy.silence();
  await expectSilence([
    ...MANY.map((i) => store.get("thing", `t${i}`)),
    ...MANY.map((i) => store.commit([insertOf({ id: `new${i}` })])),
    store.list({ kind: "thing", limit: 9 }),
    ...MANY.map((i) => limits.take(`user${i}`, WINDOW, NOW)),
    ...MANY.map((i) => queue.enqueue([newJob(`lost${i}`)])),
    queue.claim({ endpoint: ENDPOINT, holder: "w1", limit: 1, bytes: ANY, now: NOW }),
    queue.apply([finish("runs")]),
    queue.renew("w1", ENDPOINT, 10),
    queue.read("waits", NOW),
    queue.due(NOW, 9),
  ]);
  proxy.speak();
  expect(await store.get("thing", "t1")).toMatchObject({ id: "t1" });
  expect((await limits.take("user0", WINDOW, NOW)).allowed).toBe(true);
  expect(await claimIds(queue)).toEqual(["waits"]);
  await apply(queue, finish("runs"));
});

test("what is closed while the database is silent is closed all the same", async () => {
  await using world = await setup();
  const clock = new FakeClock();
  const parts = [
    await PostgresStore.open(world.proxy.url, patience),
    await PostgresQueue.open(world.proxy.url, { random: realRandom, ...patience }),
    await PostgresSignals.open(world.proxy.url, { clock, random: realRandom, ...patience }),
    await PostgresPresence.open(world.proxy.url, clock, patience),
  ];
  world.proxy.silence();
  await Promise.all(parts.map((part) => part[Symbol.asyncDispose]()));
});

test("a statement that takes too long is broken off, and costs neither its connection nor its transaction's locks", async () => {
  await using world = await setup();
  const pool = openPool(world.database.url, { connections: 1, ...patience });
  world.opened.defer(() => endPool(pool));
  const [before] = await query(pool, "SELECT pg_backend_pid() AS pid");
  const slow = transaction(pool, async (sql) => {
    await sql("SELECT pg_advisory_xact_lock(1)");
    await sql("SELECT pg_sleep(60)");
  });
  await expect(slow).rejects.toMatchObject({ code: "unavailable", cause: { code: "57014" } });
  expect(await query(pool, "SELECT pg_backend_pid() AS pid")).toEqual([before]);
  expect(await query(pool, ADVISORY_LOCKS)).toEqual([]);
});

test("whoever waits for a connection of a pool that others have is refused in time", async () => {
  await using world = await setup();
  const pool = openPool(world.database.url, { connections: 1, ...patience });
  world.opened.defer(() => endPool(pool));
  const held = await pool.connect();
  await expectSilence([query(pool, "SELECT 1"), transaction(pool, (sql) => sql("SELECT 1"))]);
  held.release();
  expect(await query(pool, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

test("a connection for signals that leads nowhere any more is noticed, and what was missed is looked for", async () => {
  await using world = await setup();
  const clock = new FakeClock();
  await using here = await PostgresSignals.open(world.proxy.url, { clock, random: realRandom, ...patience });
  await using there = await PostgresSignals.open(world.database.url, { clock: realClock, random: realRandom });
  const missed = listener(here, "work:missed");
  world.proxy.silence();
  there.emit("work:missed");
  world.proxy.speak();
  await untilTrue(clock, () => missed.heard.length > 0);
  const sent = listener(there, "ended:later");
  here.emit("ended:later");
  await untilTrue(clock, () => sent.heard.length > 0);
});

test("a place that nobody confirms any more is not held", async () => {
  await using world = await setup();
  const clock = new FakeClock();
  await using presence = await PostgresPresence.open(world.proxy.url, clock, patience);
  const isHeld = () => {
    try {
      presence.assertHeld();
      return true;
    } catch {
      return false;
    }
  };
  world.proxy.silence();
  await untilTrue(clock, () => !isHeld());
  world.proxy.speak();
  await untilTrue(clock, isHeld);
});

/** Waits for a change that comes through the network, without an event of ours. */
async function untilTrue(clock: FakeClock, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
