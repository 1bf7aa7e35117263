/** What time it is by PostgreSQL's clock, to the microsecond. */

const TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now";

/** Resolves to the rows of an answer, as a connection of any kind gives them. */
type Ask = (statement: string) => Promise<unknown[]>;

export async function timeBy(ask: Ask): Promise<number> {
  return ((await ask(TIME)) as { now: number }[])[0]!.now;
}
