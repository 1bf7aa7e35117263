/** Counts records in PostgreSQL, and lets commits that have an upper bound take turns. */
import { isStorable } from "../../kernel/storable.ts";
import { type Counting, type Selection, type Write, WriteRefused } from "../../ports/store/store.ts";
import type { Sql } from "./pool.ts";

/** Distinguishes these turns from other advisory locks of the same database. */
const TURNS = 7_218_305;

/** A selection as SQL, with its values in order. */
export function selected({ kind, account, key }: Selection) {
  const values = [kind];
  const value = (given: string) => `$${values.push(given)}`;
  const order = key ? "list_keys" : "records";
  const where = [
    `${order}.kind = $1`,
    ...(key ? [`name = ${value(key.name)}`, `value = ${value(key.value)}`] : []),
    ...(account === undefined ? [] : [`account = ${value(account)}`]),
  ].join(" AND ");
  return { tables: key ? "list_keys JOIN records USING (kind, id)" : "records", order, where, values };
}

export async function counted(sql: Sql, { sum, ...selection }: Counting): Promise<number> {
  const { tables, where, values } = selected(selection);
  if (!values.every(isStorable)) return 0;
  const field = `doc -> $${values.length + 1}::text`;
  const what =
    sum === undefined
      ? "count(*)"
      : `coalesce(sum(CASE WHEN jsonb_typeof(${field}) = 'number' THEN (${field})::float8 END), 0)`;
  const given = sum === undefined ? values : [...values, sum];
  const [found] = await sql<{ n: number }>(`SELECT (${what})::float8 AS n FROM ${tables} WHERE ${where}`, given);
  return found!.n;
}

/**
 * A commit with an upper bound waits until earlier ones have committed, so that it counts what they created. Turns are taken before any
 * other lock and always in the same order, so there is no deadlock. Each account and kind has its own turn; others do not wait.
 */
export async function takeTurns(sql: Sql, writes: readonly Write[]): Promise<void> {
  const bounded = writes.flatMap((write) => boundsOf(write).flatMap(({ of }) => of));
  const turns = [...new Set(bounded.map(({ kind, account }) => JSON.stringify([kind, account ?? null])))].sort();
  for (const turn of turns) await sql("SELECT pg_advisory_xact_lock(hashtextextended($1, $2))", [turn, TURNS]);
}

/** Counts after the write in a statement of its own, which sees everything that was committed before the turn came. */
export async function refusePast(sql: Sql, write: Write, index: number): Promise<void> {
  for (const { of, most } of boundsOf(write)) {
    let has = 0;
    for (const counting of of) has += await counted(sql, counting);
    if (has > most) throw new WriteRefused("full", index);
  }
}

const boundsOf = (write: Write) => (write.do === "remove" ? [] : (write.within ?? []));
