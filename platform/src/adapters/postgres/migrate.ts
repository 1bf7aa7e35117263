/** Schemas in PostgreSQL: the first node that starts brings each component's tables forward. */
import { realClock } from "../../kernel/clock.ts";
import { type Pool, type Sql, transaction } from "./pool.ts";

/** A number that nobody else uses for an advisory lock: "millrace" in bytes. */
const MIGRATION_LOCK = "7883951835720016741";

/** Building an index over a whole table takes long, and so does waiting for another node that builds one. */
const PATIENCE = { answerMs: 3_600_000 };

export interface Migrating {
  /** Receives a sentence for each step. */
  say?: (text: string) => void;
}

/** Migrates forward only. Nodes that start at the same time take turns, and all but the first find nothing to do. */
export async function migrate(
  pool: Pool,
  component: string,
  migrations: readonly string[],
  { say = () => {} }: Migrating = {},
): Promise<void> {
  const work = async (sql: Sql) => {
    // Held until the transaction ends. CREATE TABLE IF NOT EXISTS alone fails when two run it at the same moment.
    await sql("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await sql("CREATE TABLE IF NOT EXISTS schema_versions (component text PRIMARY KEY, version integer NOT NULL)");
    const done = await schemaVersion(sql, component);
    if (done > migrations.length) throw newerSchema(component, done, migrations.length);
    const isOlder = done > 0 && done < migrations.length;
    const what = `the ${component} in PostgreSQL from format ${done} to ${migrations.length}`;
    if (isOlder)
      say(`bringing ${what}. No copy is made before: that is done with pg_dump, before a new release is started.`);
    const began = realClock.monotonic();
    for (const migration of migrations.slice(done)) await sql(migration);
    if (isOlder) say(`brought ${what} in ${Math.round(realClock.monotonic() - began)} ms`);
    await sql(
      `INSERT INTO schema_versions (component, version) VALUES ($1, $2)
       ON CONFLICT (component) DO UPDATE SET version = excluded.version WHERE schema_versions.version <> excluded.version`,
      [component, migrations.length],
    );
  };
  await transaction(pool, work, PATIENCE);
}

async function schemaVersion(sql: Sql, component: string): Promise<number> {
  const [row] = await sql<{ version: number }>("SELECT version FROM schema_versions WHERE component = $1", [component]);
  return row?.version ?? 0;
}

function newerSchema(component: string, found: number, known: number): Error {
  return new Error(
    `the database has schema ${found} of the ${component}, but this release of Millrace knows schemas up to ${known}: ` +
      "it was written by a newer release; start that one, or restore a backup made before the upgrade",
  );
}
