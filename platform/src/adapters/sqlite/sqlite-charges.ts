/** What callers of shared endpoints owe, in the queue's SQLite file. */
import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { ChargeFilter, Charges, NewCharges } from "../../ports/queue/queue.ts";
import { sql } from "./statement.ts";
import { openForReading } from "./writer.ts";

export function addCharges(db: DatabaseSync, given: NewCharges): void {
  const { caller, endpoint, share, hour, requests, executionMs, inputTokens, outputTokens, amount } = given;
  sql(
    db,
    `INSERT INTO charges VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO UPDATE SET requests = requests + ?5,
     execution_ms = execution_ms + ?6, input_tokens = input_tokens + ?7, output_tokens = output_tokens + ?8, amount = amount + ?9`,
  ).run(caller, endpoint, share, hour, requests, executionMs, inputTokens, outputTokens, amount);
  if (given.key === undefined) return;
  sql(db, "INSERT INTO key_charges VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET amount = amount + ?3").run(
    ...[given.key, hour, amount],
  );
}

/** A sum beyond what a number of JavaScript holds exactly is read as the nearest one. Reading it as it is would fail. */
const readable = (amount: string) =>
  `CASE WHEN ${amount} > ${Number.MAX_SAFE_INTEGER} THEN CAST(${amount} AS REAL) ELSE ${amount} END`;

export function chargedByKey(db: DatabaseSync, key: string, fromHour: number): number {
  const amount = readable("coalesce(sum(amount), 0)");
  const sum = sql(db, `SELECT ${amount} AS amount FROM key_charges WHERE key = ? AND hour >= ?`);
  return (sum.get(key, fromHour) as { amount: number }).amount;
}

export function readCharges(db: DatabaseSync, { caller, endpoints, from, to }: ChargeFilter): Charges[] {
  const where = [
    "hour >= ? AND hour < ?",
    ...(caller === undefined ? [] : ["caller = ?"]),
    ...(endpoints ? [`endpoint IN (${endpoints.map(() => "?").join(", ")})`] : []),
  ].join(" AND ");
  const values = [from, to, ...(caller === undefined ? [] : [caller]), ...(endpoints ?? [])];
  return sql(
    db,
    `SELECT caller, endpoint, share, hour, requests, execution_ms AS executionMs, input_tokens AS inputTokens,
       output_tokens AS outputTokens, ${readable("amount")} AS amount FROM charges WHERE ${where} ORDER BY hour, caller, endpoint, share`,
  ).all(...values) as unknown as Charges[];
}

/** For commands, which run beside a server that owns the file. A file of an older release has no charges. */
export function chargesInFile(file: string, filter: ChargeFilter): Charges[] {
  if (!existsSync(file)) return [];
  using db = openForReading(file);
  const table = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'charges'").get();
  return table ? readCharges(db, filter) : [];
}
