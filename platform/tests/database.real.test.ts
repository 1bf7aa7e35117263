/** The real PostgreSQL that other tests build on. */
import { Client } from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "./database.ts";

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

test("a database is empty for each test, whatever the one before left in it", async () => {
  let before: Client;
  {
    await using database = await freshDatabase();
    before = await connect(database.url);
    await before.query("CREATE TABLE left_behind (text text); BEGIN; LOCK left_behind");
    before.on("error", () => {});
  }
  await using database = await freshDatabase();
  const client = await connect(database.url);
  const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  await client.end();
  expect(rows).toEqual([]);
});

test("two tests at once have two databases", async () => {
  await using one = await freshDatabase();
  await using two = await freshDatabase();
  expect(one.url).not.toBe(two.url);
});
