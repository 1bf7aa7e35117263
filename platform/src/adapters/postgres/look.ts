/** What a person wants to know about a PostgreSQL before a server uses it. Nothing is changed there. */
import { Client } from "pg";
import type { Clock } from "../../kernel/clock.ts";
import { type ClockDifference, clockDifference } from "../../kernel/clock-difference.ts";
import { connectionsTo, type Patience } from "./connection.ts";
import { timeBy } from "./time.ts";

export interface PostgresFacts {
  /** Such as 15.6. */
  version: string;
  major: number;
  /** How far this machine's clock is from its. */
  difference: ClockDifference;
  /** Connections in use, and how many there can be for users like this one. */
  used: number;
  most: number;
}

const ASKED = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
  (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most`;

export async function lookAtPostgres(url: string, clock: Clock, patience: Patience): Promise<PostgresFacts> {
  const { config, endBy } = connectionsTo(url, { name: "millrace look", ...patience });
  const client = new Client(config);
  client.on("error", () => {});
  await client.connect();
  try {
    const { rows } = await client.query(ASKED);
    const difference = await clockDifference(clock, () => timeBy(async (asked) => (await client.query(asked)).rows));
    return { ...(rows[0] as Omit<PostgresFacts, "difference">), difference };
  } finally {
    await endBy(() => client.end());
  }
}
