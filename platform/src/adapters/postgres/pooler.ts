/** Refuses a pooler such as PgBouncer that gives each transaction another connection: locks, signals and settings need one for long. */
import { Client } from "pg";
import { connectionsTo, type Patience } from "./connection.ts";

const ROUNDS = 3;

const WRONG_POOLING =
  "a pooler is in front of PostgreSQL that gives each transaction another connection, and Millrace needs its connections for itself: " +
  "set pool_mode = session for this database in pgbouncer.ini, or name PostgreSQL itself in MILLRACE_DATABASE_URL";

/** Resolves if PostgreSQL answers itself, or through a pooler that keeps each connection for its client. */
export async function refusePooling(url: string, patience: Patience = {}): Promise<void> {
  await using first = await connected(url, patience);
  // PostgreSQL tells a connection the id of its process. A pooler tells an id of its own.
  if (first.told === (await first.backend())) return;
  await using second = await connected(url, patience);
  const [firsts, seconds] = [new Set<number>(), new Set<number>()];
  for (let round = 0; round < ROUNDS; round++) {
    firsts.add(await first.backend());
    seconds.add(await second.backend());
  }
  const areOwn = firsts.size === 1 && seconds.size === 1 && ![...firsts].some((one) => seconds.has(one));
  if (!areOwn) throw new Error(WRONG_POOLING);
}

async function connected(url: string, patience: Patience) {
  const { config, endBy } = connectionsTo(url, { name: "millrace look", ...patience });
  const client = new Client(config) as Client & { processID?: number | null };
  client.on("error", () => {});
  await client.connect();
  return {
    told: client.processID,
    async backend(): Promise<number> {
      const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
      return (rows as { pid: number }[])[0]!.pid;
    },
    [Symbol.asyncDispose]: () => endBy(() => client.end()),
  };
}
