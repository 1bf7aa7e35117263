/** Transactions are done as a whole or not at all, and outages are reported as outages. */
import { expect, test } from "vitest";
import { freshDatabase } from "../../../tests/database.ts";
import { openPool, query, transaction } from "./pool.ts";

async function setup() {
  const database = await freshDatabase();
  const pool = openPool(database.url);
  await query(
    pool,
    "CREATE TABLE counters (id text PRIMARY KEY, count bigint NOT NULL); INSERT INTO counters VALUES ('a', 0), ('b', 0)",
  );
  return {
    pool,
    counts: () => query(pool, "SELECT id, count FROM counters ORDER BY id"),
    async [Symbol.asyncDispose]() {
      await pool.end();
      await database[Symbol.asyncDispose]();
    },
  };
}

test("bigints are numbers", async () => {
  await using world = await setup();
  const [row] = await query(world.pool, "SELECT 9007199254740991::bigint AS large, count(*) FROM counters");
  expect(row).toEqual({ large: Number.MAX_SAFE_INTEGER, count: 2 });
});

test("a transaction whose work throws changes nothing", async () => {
  await using world = await setup();
  const work = transaction(world.pool, async (sql) => {
    await sql("UPDATE counters SET count = 9");
    throw new Error("on second thought");
  });
  await expect(work).rejects.toThrow("on second thought");
  expect(await world.counts()).toEqual([
    { id: "a", count: 0 },
    { id: "b", count: 0 },
  ]);
});

test("of two transactions that wait for each other, the one broken off is done again", async () => {
  await using world = await setup();
  const bothHoldOne = Promise.withResolvers<void>();
  let attempts = 0;
  const add = (first: string, second: string) =>
    transaction(world.pool, async (sql) => {
      await sql("UPDATE counters SET count = count + 1 WHERE id = $1", [first]);
      if (++attempts === 2) bothHoldOne.resolve();
      await bothHoldOne.promise;
      await sql("UPDATE counters SET count = count + 1 WHERE id = $1", [second]);
    });
  await Promise.all([add("a", "b"), add("b", "a")]);
  // Each time, one is done again. On a busy machine it may be back before the other has noticed that its way is free.
  expect(attempts).toBeGreaterThanOrEqual(3);
  expect(await world.counts()).toEqual([
    { id: "a", count: 2 },
    { id: "b", count: 2 },
  ]);
});

test("a single statement that is broken off is done again too", async () => {
  await using world = await setup();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const other = transaction(world.pool, async (sql) => {
    await sql("UPDATE counters SET count = count + 1 WHERE id = 'b'");
    first.resolve();
    await second.promise;
    await sql("UPDATE counters SET count = count + 1 WHERE id = 'a'");
  });
  await first.promise;
  // This statement locks a and then waits for b. The transaction that holds b waits for a.
  const single = query(world.pool, "UPDATE counters SET count = count + 10 WHERE pg_sleep(0.01) IS NOT NULL");
  while ((await query(world.pool, "SELECT 1 FROM pg_locks WHERE NOT granted")).length === 0);
  second.resolve();
  await Promise.all([other, single]);
  expect(await world.counts()).toEqual([
    { id: "a", count: 11 },
    { id: "b", count: 11 },
  ]);
});

test("a connection lost in a transaction is an outage, and the next transaction gets a new one", async () => {
  await using world = await setup();
  const lost = transaction(world.pool, async (sql) => {
    await sql("UPDATE counters SET count = 9");
    await sql("SELECT pg_terminate_backend(pg_backend_pid())");
  });
  await expect(lost).rejects.toMatchObject({ code: "unavailable", cause: { code: "57P01" } });
  await transaction(world.pool, (sql) => sql("UPDATE counters SET count = count + 1"));
  expect(await world.counts()).toEqual([
    { id: "a", count: 1 },
    { id: "b", count: 1 },
  ]);
});

test("a connection lost while idle ends neither the process nor the pool", async () => {
  await using world = await setup();
  const [idle, busy] = [await world.pool.connect(), await world.pool.connect()];
  const { rows } = await idle.query("SELECT pg_backend_pid() AS pid");
  const removed = new Promise((resolve) => world.pool.once("remove", resolve));
  idle.release();
  await busy.query("SELECT pg_terminate_backend($1)", [rows[0].pid]);
  busy.release();
  await removed;
  expect(await world.counts()).toHaveLength(2);
});

test("a fault of ours is not called an outage", async () => {
  await using world = await setup();
  await expect(query(world.pool, "SELECT nonsense")).rejects.toMatchObject({ code: "42703" });
});
