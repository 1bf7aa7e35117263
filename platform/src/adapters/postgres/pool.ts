/** Connections to PostgreSQL for every adapter that uses it, with its errors translated into problems. */
import { type CustomTypesConfig, Pool, type PoolClient, type QueryConfig, types } from "pg";
import { isProblem, problem } from "../../kernel/problem.ts";
import { storable } from "../../kernel/storable.ts";
import { readBigints } from "./arrays.ts";
import { connectionsTo, isItsWord, type Patience } from "./connection.ts";

export type { Pool };

/** A statement that each connection plans once and then finds by its name. */
export interface Statement {
  name: string;
  text: string;
}

/** Runs one statement and returns its rows. Without values the text may hold several statements. */
export type Sql = <Row = unknown>(statement: string | Statement, values?: unknown[]) => Promise<Row[]>;

const TRANSACTION_ATTEMPTS = 10;

/** The type `bigint[]`. */
const BIGINTS_OID = 1016;

const typeParsers: CustomTypesConfig = {
  // All our bigints are times or counters, far below 2^53. By default they would arrive as text.
  getTypeParser: ((oid: number, format?: "text" | "binary") => {
    if (oid === types.builtins.INT8) return Number;
    return oid === BIGINTS_OID ? readBigints : types.getTypeParser(oid, format as "text");
  }) as typeof types.getTypeParser,
};

export interface PoolOptions extends Patience {
  connections?: number;
  /** PostgreSQL settings for every connection of this pool. */
  settings?: Record<string, string>;
}

/** The function that ends each pool. */
const ends = new WeakMap<Pool, () => Promise<void>>();

/** A query that waits too long for a free connection is refused, so that waiting ones do not pile up. */
export function openPool(url: string, { connections = 10, ...options }: PoolOptions = {}): Pool {
  const { config, prepare, endBy } = connectionsTo(url, { name: "millrace", ...options });
  const pool = new Pool({ ...config, max: connections, types: typeParsers, onConnect: prepare });
  ends.set(pool, () => endBy(() => pool.end()));
  // The pool replaces a broken connection, and the query that used it reports the error. Without a listener, the event would end the
  // process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** Call this when nothing is under way any more. A connection that does not close by itself is cut. */
export async function endPool(pool: Pool): Promise<void> {
  await ends.get(pool)!();
}

/** A single statement is a transaction of its own, and is repeated when PostgreSQL aborts it because of a conflict. */
export function query<Row = unknown>(pool: Pool, statement: string | Statement, values?: unknown[]): Promise<Row[]> {
  return repeated(() => translated(pool.query(configOf(statement, values)).then(({ rows }) => rows as Row[])));
}

function configOf(statement: string | Statement, values: unknown[] | undefined): QueryConfig {
  const { name, text } = typeof statement === "string" ? { name: undefined, text: statement } : statement;
  return { text, ...(name ? { name } : {}), ...(values ? { values: values.map(acceptable) } : {}) };
}

/**
 * PostgreSQL refuses statements with characters that it cannot store. Replacing them turns a lookup of such a text into one that finds
 * nothing.
 */
function acceptable(value: unknown): unknown {
  if (typeof value === "string") return storable(value);
  return Array.isArray(value) ? value.map(acceptable) : value;
}

/**
 * Does all of the work or none of it. When several transactions wait for each other, PostgreSQL aborts one, and its work is done again from
 * the beginning. So the work must do nothing that cannot be repeated.
 */
export function transaction<T>(pool: Pool, work: (sql: Sql) => Promise<T>, patience: Patience = {}): Promise<T> {
  return repeated(() => attemptTransaction(pool, work, patience));
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

async function attemptTransaction<T>(pool: Pool, work: (sql: Sql) => Promise<T>, { answerMs }: Patience): Promise<T> {
  const client = await translated(pool.connect());
  const longer = answerMs === undefined ? {} : { query_timeout: answerMs };
  const sql: Sql = (statement, values) =>
    translated(client.query({ ...configOf(statement, values), ...longer }).then(({ rows }) => rows));
  try {
    // The level is explicit, because an installation may have another default.
    await sql("BEGIN ISOLATION LEVEL READ COMMITTED");
    if (answerMs !== undefined) await sql(`SET LOCAL statement_timeout = ${answerMs}`);
    const result = await work(sql);
    await sql("COMMIT");
    client.release();
    return result;
  } catch (error) {
    await abandon(client, error);
    throw error;
  }
}

async function abandon(client: PoolClient, why: unknown): Promise<void> {
  // A silent server would not answer a rollback either.
  if (isSilence(why)) return client.release(why as Error);
  try {
    await client.query("ROLLBACK");
    client.release();
  } catch (error) {
    // A connection that cannot even roll back is not used again. Closing it rolls back too.
    client.release(error as Error);
  }
}

/** Translates errors of PostgreSQL and of its driver into problems. */
export async function translated<T>(foreign: Promise<T>): Promise<T> {
  try {
    return await foreign;
  } catch (cause) {
    // The server's message may name hosts and users, so it stays in the cause, for the log.
    if (isLate(cause)) throw problem("unavailable", LATE, { cause, reason: "database-away" });
    if (isOutage(cause))
      throw problem("unavailable", "The database cannot be reached at the moment.", { cause, reason: "database-away" });
    if (isConflict(cause)) throw problem("unavailable", "The database is too busy with the same records.", { cause });
    throw cause;
  }
}

const LATE =
  "The database did not answer in time. A change that was asked for may or may not have been made; try again.";
const CANCELLED = "57014";

/** PostgreSQL cancelled a slow statement, or there was no answer at all. The driver reports the second case only by its message. */
const isLate = (error: unknown) =>
  isItsWord(error) ? error.code === CANCELLED : /time-?out/i.test(String((error as Error | undefined)?.message));

/** Whether the database was silent for the whole time limit, so that it will hardly answer soon. */
export const isSilence = (error: unknown) =>
  isProblem(error, "unavailable") && isLate(error.cause) && !isItsWord(error.cause);

/** SQLSTATE classes: connection, resources (disk full, too many connections), operator intervention (shutdown). */
const OUTAGES = ["08", "53", "57"];
const READ_ONLY = "25006";
const CONFLICTS = ["40001", "40P01"];

function isOutage(error: unknown): boolean {
  // Any other error comes from the driver, which only reports errors of connections.
  if (!isItsWord(error)) return true;
  const state = error.code ?? "";
  // A former primary is read-only until clients have found the new one.
  return OUTAGES.includes(state.slice(0, 2)) || state === READ_ONLY;
}

function isConflict(error: unknown): boolean {
  return isItsWord(error) && CONFLICTS.includes(error.code ?? "");
}

function wasBrokenOff(error: unknown): boolean {
  return isProblem(error, "unavailable") && isConflict(error.cause);
}
