/** Connections to PostgreSQL for every adapter that uses it, with its errors translated into ours. */
import { type CustomTypesConfig, DatabaseError, Pool, type PoolClient, type QueryConfig, types } from "pg";
import { isProblem, problem } from "../../kernel/problem.ts";
import { readBigints } from "./arrays.ts";

export type { Pool };

/** A statement that each connection plans once and then knows by its name. */
export interface Statement {
  name: string;
  text: string;
}

/** Runs one statement and returns its rows. Without values the text may hold several statements. */
export type Sql = <Row = unknown>(statement: string | Statement, values?: unknown[]) => Promise<Row[]>;

/** A request that cannot get a connection for this long is refused, so that waiting ones do not pile up. */
const CONNECT_TIMEOUT_MS = 10_000;
const TRANSACTION_ATTEMPTS = 10;

/** Of the type `bigint[]`. */
const BIGINTS_OID = 1016;

const typeParsers: CustomTypesConfig = {
  // Every bigint of ours is a time or a counter, far below 2^53; by default they would arrive as text.
  getTypeParser: ((oid: number, format?: "text" | "binary") => {
    if (oid === types.builtins.INT8) return Number;
    return oid === BIGINTS_OID ? readBigints : types.getTypeParser(oid, format as "text");
  }) as typeof types.getTypeParser,
};

interface PoolOptions {
  connections?: number;
  /** Settings of PostgreSQL for every connection of this pool. */
  settings?: Record<string, string>;
}

export function openPool(url: string, { connections = 10, settings = {} }: PoolOptions = {}): Pool {
  const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  const pool = new Pool({
    connectionString: url,
    ...(options.length > 0 ? { options: options.join(" ") } : {}),
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: typeParsers,
    application_name: "millrace",
  });
  // A connection that breaks is replaced, and the query that used it, if any, reports it. Unheard, the event would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** One statement is a transaction of its own, and as such is repeated when PostgreSQL breaks it off. */
export function query<Row = unknown>(pool: Pool, statement: string | Statement, values?: unknown[]): Promise<Row[]> {
  return repeated(() => translated(pool.query(configOf(statement, values)).then(({ rows }) => rows as Row[])));
}

function configOf(statement: string | Statement, values: unknown[] | undefined): QueryConfig {
  const { name, text } = typeof statement === "string" ? { name: undefined, text: statement } : statement;
  return { text, ...(name ? { name } : {}), ...(values ? { values } : {}) };
}

/**
 * All of the work or none of it. Where PostgreSQL breaks off one of several transactions that wait for each other, the work
 * is done again from its beginning: it must not do anything that cannot be repeated.
 */
export function transaction<T>(pool: Pool, work: (sql: Sql) => Promise<T>): Promise<T> {
  return repeated(() => attemptTransaction(pool, work));
}

async function repeated<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!wasBrokenOff(error) || attempt === TRANSACTION_ATTEMPTS) throw error;
    }
  }
}

async function attemptTransaction<T>(pool: Pool, work: (sql: Sql) => Promise<T>): Promise<T> {
  const client = await translated(pool.connect());
  const sql: Sql = (statement, values) =>
    translated(client.query(configOf(statement, values)).then(({ rows }) => rows));
  try {
    // Named, because an installation may have another default.
    await sql("BEGIN ISOLATION LEVEL READ COMMITTED");
    const result = await work(sql);
    await sql("COMMIT");
    client.release();
    return result;
  } catch (error) {
    await abandon(client);
    throw error;
  }
}

async function abandon(client: PoolClient): Promise<void> {
  try {
    await client.query("ROLLBACK");
    client.release();
  } catch (error) {
    // A connection that cannot even roll back is not used again; closing it rolls back too.
    client.release(error as Error);
  }
}

/** PostgreSQL's and the driver's errors as ours. */
export async function translated<T>(foreign: Promise<T>): Promise<T> {
  try {
    return await foreign;
  } catch (cause) {
    // The server's words may name hosts and users; they stay in the cause, for the log.
    if (isOutage(cause)) throw problem("unavailable", "The database cannot be reached at the moment.", { cause });
    if (isConflict(cause)) throw problem("unavailable", "The database is too busy with the same records.", { cause });
    throw cause;
  }
}

/** Classes of SQLSTATE: connection, resources (disk full, too many connections), operator intervention (shutdown). */
const OUTAGES = ["08", "53", "57"];
const READ_ONLY = "25006";
const CONFLICTS = ["40001", "40P01"];

function isOutage(error: unknown): boolean {
  // What is not the server's word is the driver's, and it only speaks up about connections.
  if (!(error instanceof DatabaseError)) return true;
  const state = error.code ?? "";
  // A former primary is read-only until clients have found the new one.
  return OUTAGES.includes(state.slice(0, 2)) || state === READ_ONLY;
}

function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && CONFLICTS.includes(error.code ?? "");
}

function wasBrokenOff(error: unknown): boolean {
  return isProblem(error, "unavailable") && isConflict(error.cause);
}
