/** What must be known about a PostgreSQL before a server uses it. Nothing is changed there. */
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
  /** The encoding of the database, such as UTF8. */
  encoding: string;
  /** True for a replica too. */
  isReadOnly: boolean;
}

const ASKED = `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
  (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most,
  current_setting('server_encoding') AS encoding, current_setting('transaction_read_only') = 'on' AS "isReadOnly"`;

const OLDEST = 14;
/** SQL_ASCII stores the bytes of any text. */
const ENCODINGS = ["UTF8", "SQL_ASCII"];

/** Says why no server can use this PostgreSQL, and what to do. Undefined if one can. */
export function unfitness({
  version,
  major,
  encoding,
  isReadOnly,
}: Pick<PostgresFacts, "version" | "major" | "encoding" | "isReadOnly">): { why: string; help: string } | undefined {
  if (major < OLDEST) return { why: `PostgreSQL ${version} is too old`, help: `upgrade it to ${OLDEST} or later` };
  if (isReadOnly)
    return {
      why: "it is read-only, as a replica is",
      help: "name the primary in MILLRACE_DATABASE_URL, or end what makes the database read-only",
    };
  if (ENCODINGS.includes(encoding)) return undefined;
  return {
    why: `its encoding ${encoding} cannot store every character`,
    help: "make a database with 'createdb --encoding UTF8 --locale C --template template0', and restore a dump of this one there if it holds records",
  };
}

export async function refuseUnfit(url: string, clock: Clock, patience: Patience): Promise<void> {
  const unfit = unfitness(await lookAtPostgres(url, clock, patience));
  if (unfit) throw new Error(`PostgreSQL cannot be used: ${unfit.why}: ${unfit.help}`);
}

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
