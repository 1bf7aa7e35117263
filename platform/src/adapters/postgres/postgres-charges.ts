/** What callers of shared endpoints owe, in PostgreSQL. It is written in the statement that ends the job. */
import type { Charge } from "../../ports/queue/job.ts";
import type { ChargeFilter, Charges, NewCharges } from "../../ports/queue/queue.ts";
import type { Patience } from "./connection.ts";
import { endPool, openPool, query, type Sql } from "./pool.ts";

/** The columns of a charge. All but the hour are added up. */
export const CHARGE_COLUMNS = [
  ["hour", "hour"],
  ["requests", "requests"],
  ["execution_ms", "executionMs"],
  ["input_tokens", "inputTokens"],
  ["output_tokens", "outputTokens"],
  ["amount", "amount"],
] as const satisfies [string, keyof Charge][];

const SUMMED = CHARGE_COLUMNS.slice(1).map(([column]) => column);

const ADDED = `ON CONFLICT (caller, hour, endpoint, share, slot) DO UPDATE
    SET ${SUMMED.map((column) => `${column} = job_charges.${column} + excluded.${column}`).join(", ")}`;

/** Charges the jobs in `done`. Each writer has a slot, so that none waits for another's commit. */
export function chargesOf(slot: string): string {
  return `INSERT INTO job_charges (caller, hour, endpoint, share, slot, ${SUMMED.join(", ")})
    SELECT caller, charged_hour, endpoint, fare ->> 'share', ${slot}, ${SUMMED.map((column) => `sum(charged_${column})`).join(", ")}
    FROM done WHERE caller IS NOT NULL AND fare IS NOT NULL GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
    ${ADDED}`;
}

const ADDED_TO_KEY = "ON CONFLICT (key, hour, slot) DO UPDATE SET amount = job_key_charges.amount + excluded.amount";

/** The same for the keys that the fares of those jobs name. */
export function keyChargesOf(slot: string): string {
  return `INSERT INTO job_key_charges (key, hour, slot, amount)
    SELECT fare ->> 'key', charged_hour, ${slot}, sum(charged_amount)
    FROM done WHERE caller IS NOT NULL AND fare ->> 'key' IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2
    ${ADDED_TO_KEY}`;
}

const ADD = `INSERT INTO job_charges (caller, hour, endpoint, share, slot, ${SUMMED.join(", ")})
  VALUES ($1, $2, $3, $4, $5, ${SUMMED.map((_, i) => `$${i + 6}`).join(", ")}) ${ADDED}`;

/** Must run in a transaction. */
export async function addCharges(sql: Sql, given: NewCharges, slot: number): Promise<void> {
  const { caller, hour, endpoint, share, key } = given;
  const sums = CHARGE_COLUMNS.slice(1).map(([, field]) => given[field]);
  await sql({ name: "add_charges", text: ADD }, [caller, hour, endpoint, share, slot, ...sums]);
  if (key === undefined) return;
  const text = `INSERT INTO job_key_charges VALUES ($1, $2, $3, $4) ${ADDED_TO_KEY}`;
  await sql({ name: "add_key_charge", text }, [key, hour, slot, given.amount]);
}

export async function chargedByKey(sql: Sql, key: string, fromHour: number): Promise<number> {
  const text = "SELECT coalesce(sum(amount), 0)::bigint AS amount FROM job_key_charges WHERE key = $1 AND hour >= $2";
  const [sum] = await sql<{ amount: number }>({ name: "charged_by_key", text }, [key, fromHour]);
  return sum!.amount;
}

export function readCharges(sql: Sql, { caller, endpoints, from, to }: ChargeFilter): Promise<Charges[]> {
  const values: unknown[] = [from, to];
  const value = (given: unknown) => `$${values.push(given)}`;
  const where = [
    "hour >= $1 AND hour < $2",
    ...(caller === undefined ? [] : [`caller = ${value(caller)}`]),
    ...(endpoints ? [`endpoint = ANY (${value(endpoints)}::text[])`] : []),
  ].join(" AND ");
  const sums = CHARGE_COLUMNS.slice(1).map(([column, field]) => `sum(${column})::bigint AS "${field}"`);
  return sql<Charges>(
    `SELECT caller, endpoint, share, hour, ${sums.join(", ")} FROM job_charges WHERE ${where}
     GROUP BY hour, caller, endpoint, share ORDER BY hour, caller, endpoint, share`,
    values,
  );
}

/** For commands. A database of an older release has no charges. */
export async function chargesInDatabase(url: string, filter: ChargeFilter, patience: Patience): Promise<Charges[]> {
  const pool = openPool(url, { connections: 1, ...patience });
  const sql: Sql = (statement, values) => query(pool, statement, values);
  try {
    const [found] = await sql<{ there: boolean }>("SELECT to_regclass('job_charges') IS NOT NULL AS there");
    return found!.there ? await readCharges(sql, filter) : [];
  } finally {
    await endPool(pool);
  }
}
