/** Migrations are applied once, by the first node that starts, and never backwards. */
import { expect, test } from "vitest";
import { freshDatabase } from "../../../tests/database.ts";
import { migrate } from "./migrate.ts";
import { openPool, query } from "./pool.ts";

async function setup() {
  const database = await freshDatabase();
  const pool = openPool(database.url);
  return {
    url: database.url,
    pool,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await database[Symbol.asyncDispose]();
    },
  };
}

const first = "CREATE TABLE notes (text text); INSERT INTO notes VALUES ('first')";
const second = "INSERT INTO notes VALUES ('second')";

test("ten nodes that start at once migrate an empty database once", async () => {
  await using world = await setup();
  const pools = Array.from({ length: 10 }, () => openPool(world.url, { connections: 1 }));
  await Promise.all(pools.map((pool) => migrate(pool, "notes", [first, second])));
  expect(await query(world.pool, "SELECT text FROM notes ORDER BY text")).toEqual([
    { text: "first" },
    { text: "second" },
  ]);
  await Promise.all(pools.map((pool) => pool.end()));
});

test("a newer release applies only what is new", async () => {
  await using world = await setup();
  await migrate(world.pool, "notes", [first]);
  await migrate(world.pool, "notes", [first, second]);
  expect(await query(world.pool, "SELECT text FROM notes ORDER BY text")).toEqual([
    { text: "first" },
    { text: "second" },
  ]);
});

test("a schema of a newer release is refused with the reason", async () => {
  await using world = await setup();
  await migrate(world.pool, "notes", [first, second]);
  const refused = migrate(world.pool, "notes", [first]);
  await expect(refused).rejects.toThrow(/has schema 2 of the notes, but .* up to 1: it was written by a newer release/);
});

test("components have versions of their own", async () => {
  await using world = await setup();
  await migrate(world.pool, "notes", [first, second]);
  await migrate(world.pool, "letters", ["CREATE TABLE letters (text text)"]);
  const versions = await query(world.pool, "SELECT component, version FROM schema_versions ORDER BY component");
  expect(versions).toEqual([
    { component: "letters", version: 1 },
    { component: "notes", version: 2 },
  ]);
});

test("a migration that fails leaves nothing behind", async () => {
  await using world = await setup();
  await expect(migrate(world.pool, "notes", [first, "NONSENSE"])).rejects.toThrow("syntax error");
  await migrate(world.pool, "notes", [first]);
  expect(await query(world.pool, "SELECT text FROM notes")).toEqual([{ text: "first" }]);
});

test("what is brought forward is told, with the word that no copy is made", async () => {
  await using world = await setup();
  const said: string[] = [];
  const say = (text: string) => said.push(text);
  await migrate(world.pool, "notes", [first], { say });
  expect(said).toEqual([]);
  await migrate(world.pool, "notes", [first, second], { say });
  expect(said).toEqual([
    "bringing the notes in PostgreSQL from format 1 to 2. No copy is made before: that is done with pg_dump, before a new release is started.",
    expect.stringMatching(/^brought the notes in PostgreSQL from format 1 to 2 in \d+ ms$/),
  ]);
});
