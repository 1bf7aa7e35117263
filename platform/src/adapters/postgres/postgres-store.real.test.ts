/** The PostgreSQL store keeps the port's promises, also when only the server could break them. */
import { expect, test } from "vitest";
import { freshDatabase } from "../../../tests/database.ts";
import { realClock } from "../../kernel/clock.ts";
import { insertOf, nameKey, patchOf, seed, settled } from "../../ports/store/conformance-records.ts";
import { type OpenedStore, storeConformance } from "../../ports/store/store.conformance.ts";
import { openPool, query } from "./pool.ts";
import { PostgresStore } from "./postgres-store.ts";

async function openPostgres(): Promise<OpenedStore> {
  const database = await freshDatabase();
  let store = await PostgresStore.open(database.url);
  return {
    store,
    async beside() {
      const other = await PostgresStore.open(database.url);
      return { store: other, [Symbol.asyncDispose]: () => other[Symbol.asyncDispose]() };
    },
    async reopen() {
      await store[Symbol.asyncDispose]();
      store = await PostgresStore.open(database.url);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

storeConformance("PostgresStore", openPostgres);

test("ten nodes that start at once on an empty database share one store", async () => {
  await using database = await freshDatabase();
  const nodes = await Promise.all(Array.from({ length: 10 }, () => PostgresStore.open(database.url)));
  const claims = nodes.map((node, i) => seed(node, { id: `r${i}`, unique: [nameKey("web")] }));
  const { won, refused } = await settled(claims);
  expect(won).toHaveLength(1);
  expect(refused).toEqual(Array(9).fill("key-taken"));
  for (const node of nodes) expect(await node.list({ kind: "thing", limit: 10 })).toEqual(won);
  await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
});

test("a server whose clock is ahead takes no lease of a server that lives, and holds its own no longer for that", async () => {
  await using database = await freshDatabase();
  await using store = await PostgresStore.open(database.url);
  const [now, hourMs] = [realClock.now(), 3_600_000];
  const ask = (name: string, holder: string, at: number) => store.lease({ name, holder, now: at, until: at + 60_000 });
  expect(await ask("sweeper", "right", now)).toBe(1);
  expect(await ask("sweeper", "ahead", now + hourMs)).toBeUndefined();
  expect(await ask("planner", "ahead", now + hourMs)).toBe(1);
  expect(await ask("planner", "right", now)).toBeUndefined();
  expect(await ask("planner", "right", now + 2 * hourMs)).toBeUndefined();
  // The database's clock cannot be set for a test, so this moves the stored time closer instead.
  const pool = openPool(database.url, { connections: 1 });
  await query(pool, "UPDATE leases SET until = until - $1", [60_000]);
  await pool.end();
  expect(await ask("planner", "right", realClock.now())).toBe(2);
});

test("a key given to a record while its account is removed is not left behind", async () => {
  await using database = await freshDatabase();
  await using one = await PostgresStore.open(database.url);
  await using two = await PostgresStore.open(database.url);
  for (let round = 0; round < 10; round++) {
    await seed(one, { id: "r1" });
    const rename = two.commit([{ ...patchOf("r1", {}), unique: [nameKey(`web-${round}`)] }]);
    await Promise.all([settled([rename]), one.removeAccount("a")]);
    await one.commit([insertOf({ id: `after-${round}`, account: "b", unique: [nameKey(`web-${round}`)] })]);
    expect(await one.find("thing", nameKey(`web-${round}`))).toMatchObject({ id: `after-${round}` });
  }
});

test("a server that cannot be reached is unavailable, and the reason is kept", async () => {
  const error = await PostgresStore.open("postgres://user:hidden@127.0.0.1:1/none").catch((error) => error);
  expect(error).toMatchObject({ code: "unavailable", cause: { code: "ECONNREFUSED" } });
  expect(error.message).not.toContain("hidden");
});
