/** Limits in PostgreSQL keep the port's promises, also on several nodes at once. */
import { expect, test } from "vitest";
import { freshDatabase } from "../../../tests/database.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { allowedRemainders, limitsConformance, perMinute } from "../../ports/limits/limits.conformance.ts";
import { MemoryLimits } from "../../ports/limits/memory-limits.ts";
import { openPool, query } from "./pool.ts";
import { PostgresLimits } from "./postgres-limits.ts";

limitsConformance("PostgresLimits", async () => {
  const database = await freshDatabase();
  const limits = await PostgresLimits.open(database.url);
  return {
    limits,
    async [Symbol.asyncDispose]() {
      await limits[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
});

test("of 200 requests at once to two nodes on a quota of 100, 100 are let through", async () => {
  await using database = await freshDatabase();
  await using one = await PostgresLimits.open(database.url);
  await using two = await PostgresLimits.open(database.url);
  const asks = Array.from({ length: 200 }, (_, i) => (i % 2 ? one : two).take("u", [perMinute(100)], 0));
  const remainders = allowedRemainders(await Promise.all(asks));
  expect(remainders.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
});

test("the rule in SQL is the rule in TypeScript, whatever the policy and the clock do (seed 7)", async () => {
  await using database = await freshDatabase();
  await using limits = await PostgresLimits.open(database.url);
  await using memory = new MemoryLimits();
  const random = new SeededRandom(7);
  const anyPolicy = () =>
    Array.from({ length: 1 + random.below(3) }, (_, i) => ({
      name: `w${i}`,
      quota: random.below(6),
      seconds: 1 + random.below(4),
    }));
  const policies = Array.from({ length: 4 }, anyPolicy);
  for (let step = 0, now = 0; step < 300; step++) {
    now += random.below(1_500) - (random.chance(0.1) ? 3_000 : 0);
    const policy = random.chance(0.9) ? policies[0]! : random.pick(policies);
    expect(await limits.take("u", policy, now), `step ${step}`).toEqual(await memory.take("u", policy, now));
  }
});

test("users whose windows are over are forgotten, and others are not", async () => {
  await using database = await freshDatabase();
  await using limits = await PostgresLimits.open(database.url, { sweepEvery: 3 });
  await limits.take("gone", [perMinute(5)], 0);
  await limits.take("recent", [perMinute(5)], 30_000);
  await limits.take("new", [perMinute(5)], 60_000);
  const pool = openPool(database.url, { connections: 1 });
  expect(await query(pool, "SELECT user_id FROM rate_windows ORDER BY user_id")).toEqual([
    { user_id: "new" },
    { user_id: "recent" },
  ]);
  await pool.end();
});
