/** The real PostgreSQL that other tests build on. */
import { Client } from "pg";
import { expect, test } from "vitest";
import { freshDatabase } from "./database.ts";

async function tables(url: string): Promise<string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  await client.end();
  return rows.map(({ tablename }) => tablename);
}

test("a fresh database is empty and gone after its test", async () => {
  let url: string;
  {
    await using database = await freshDatabase();
    url = database.url;
    expect(await tables(url)).toEqual([]);
  }
  await expect(tables(url)).rejects.toThrow("does not exist");
});
