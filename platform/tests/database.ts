/** An empty database of its own for each test that needs PostgreSQL. */
import { Client } from "pg";
import { inject } from "vitest";
import { realRandom } from "../src/kernel/random.ts";

export interface FreshDatabase extends AsyncDisposable {
  url: string;
}

export async function freshDatabase(): Promise<FreshDatabase> {
  const server = inject("postgresUrl");
  const name = `test_${Buffer.from(realRandom.bytes(8)).toString("hex")}`;
  await command(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    // FORCE ends connections that a failed test has left open.
    [Symbol.asyncDispose]: () => command(server, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function command(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
