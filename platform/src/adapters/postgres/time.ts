/** What time it is by PostgreSQL's clock, to the microsecond. */

/** The time in milliseconds by the database's clock, which all nodes share. */
export const DATABASE_NOW = "(extract(epoch FROM statement_timestamp()) * 1000)::bigint";

/**
 * A node's time as a parameter of a statement, unless the node is ahead of the database: one whose clock was set ahead by mistake must not
 * end what others have.
 */
export const notAhead = (parameter: string) => `LEAST(${parameter}::bigint, ${DATABASE_NOW})`;

const TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now";

/** Resolves to the rows of an answer, as a connection of any kind gives them. */
type Ask = (statement: string) => Promise<unknown[]>;

export async function timeBy(ask: Ask): Promise<number> {
  return ((await ask(TIME)) as { now: number }[])[0]!.now;
}
