/** Connections to PostgreSQL for every adapter that uses it, with its errors translated into ours. */
import { type CustomTypesConfig, Pool, type PoolClient, type QueryConfig, types } from "pg";
import { isProblem, problem } from "../../kernel/problem.ts";
import { storable } from "../../kernel/storable.ts";
import { readBigints } from "./arrays.ts";
import { connectionsTo, isItsWord, type Patience } from "./connection.ts";

export type { Pool };

/** A statement that each connection plans once and then knows by its name. */
export interface Statement {
  name: string;
  text: string;
}

/** Runs one statement and returns its rows. Without values the text may hold several statements. */
export type Sql = <Row = unknown>(statement: string | Statement, values?: unknown[]) => Promise<Row[]>;

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

export interface PoolOptions extends Patience {
  connections?: number;
  /** Settings of PostgreSQL for every connection of this pool. */
  settings?: Record<string, string>;
}

/** How each pool is ended. */
const ends = new WeakMap<Pool, () => Promise<void>>();

/** A request that waits too long for a free connection is refused, so that waiting ones do not pile up. */
export function openPool(url: string, { connections = 10, ...options }: PoolOptions = {}): Pool {
  const { config, endBy } = connectionsTo(url, { name: "millrace", ...options });
  const pool = new Pool({ ...config, max: connections, types: typeParsers });
  ends.set(pool, () => endBy(() => pool.end()));
  // A connection that breaks is replaced, and the query that used it, if any, reports it. Unheard, the event would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** To be called when nothing is under way any more: what does not end by itself is cut. */
export async function endPool(pool: Pool): Promise<void> {
  await ends.get(pool)!();
}

/** One statement is a transaction of its own, and as such is repeated when PostgreSQL breaks it off. */
export function query<Row = unknown>(pool: Pool, statement: string | Statement, values?: unknown[]): Promise<Row[]> {
  return repeated(() => translated(pool.query(configOf(statement, values)).then(({ rows }) => rows as Row[])));
}

function configOf(statement: string | Statement, values: unknown[] | undefined): QueryConfig {
  const { name, text } = typeof statement === "string" ? { name: undefined, text: statement } : statement;
  return { text, ...(name ? { name } : {}), ...(values ? { values: values.map(acceptable) } : {}) };
}

/** PostgreSQL refuses statements with texts that it cannot hold: whatever is asked for by such a text is asked for by another, and not found. */
function acceptable(value: unknown): unknown {
  if (typeof value === "string") return storable(value);
  return Array.isArray(value) ? value.map(acceptable) : value;
}

/**
 * All of the work or none of it. Where PostgreSQL breaks off one of several transactions that wait for each other, the work
 * is done again from its beginning: it must not do anything that cannot be repeated.
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
    // Named, because an installation may have another default.
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
  // A server that does not answer does not answer that either.
  if (isSilence(why)) return client.release(why as Error);
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

/** PostgreSQL broke a statement off that took too long, or there was no answer at all; the driver has no code for that, only words. */
const isLate = (error: unknown) =>
  isItsWord(error) ? error.code === CANCELLED : /time-?out/i.test(String((error as Error | undefined)?.message));

/** Whether nothing was heard of the database for as long as one waits: then nothing will be heard of it soon. */
export const isSilence = (error: unknown) =>
  isProblem(error, "unavailable") && isLate(error.cause) && !isItsWord(error.cause);

/** Classes of SQLSTATE: connection, resources (disk full, too many connections), operator intervention (shutdown). */
const OUTAGES = ["08", "53", "57"];
const READ_ONLY = "25006";
const CONFLICTS = ["40001", "40P01"];

function isOutage(error: unknown): boolean {
  // What is not the server's word is the driver's, and it only speaks up about connections.
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
