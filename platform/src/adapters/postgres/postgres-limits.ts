/** Rate limits in PostgreSQL: one count for all nodes, one round trip per request. */

import { type Limits, type Verdict, verdictOf, type WindowPolicy } from "../../ports/limits/limits.ts";
import type { Patience } from "./connection.ts";
import { migrate } from "./migrate.ts";
import { endPool, openPool, type Pool, query } from "./pool.ts";

const migrations = [
  // The table is unlogged, so counting waits for no disk. After a crash of the server it is empty and every window begins again, as when a
  // single node restarts. Half of each page stays free, so that a new count fits beside the old one.
  `CREATE UNLOGGED TABLE rate_windows (
     user_id text COLLATE "C" PRIMARY KEY, allowed boolean NOT NULL,
     started_at bigint[] NOT NULL, used bigint[] NOT NULL, ends_at bigint NOT NULL
   ) WITH (fillfactor = 50);
   CREATE INDEX rate_windows_by_end ON rate_windows (ends_at);`,
];

/** One in this many requests also removes users whose windows have all ended. */
const SWEEP_EVERY = 1_000;
const SWEPT_AT_ONCE = 10_000;

/**
 * The function `judge` of limits.ts in SQL. $2 are the quotas, $3 the lengths in milliseconds, $4 is the time. Windows that are not stored
 * yet are null.
 */
const judged = (startedAt: string, used: string) => `
  WITH kept AS (
    SELECT *, coalesce(used > 0 AND started_at <= $4 AND $4 < started_at + length, false) AS runs
    FROM unnest($2::bigint[], $3::bigint[], ${startedAt}, ${used}) WITH ORDINALITY
      AS given (quota, length, started_at, used, place)
    WHERE quota IS NOT NULL
  ), current AS (
    SELECT place, quota, length,
      CASE WHEN runs THEN started_at ELSE $4 END AS started_at, CASE WHEN runs THEN used ELSE 0 END AS used
    FROM kept
  ), verdict AS (
    SELECT bool_and(used < quota) AS allowed FROM current
  )
  SELECT allowed, array_agg(started_at ORDER BY place), array_agg(used + allowed::int ORDER BY place), max(started_at + length)
  FROM current, verdict GROUP BY allowed`;

// The conflict locks the user's row, and the update sees the newest counts, so requests of one user take turns.
const TAKE = `
  INSERT INTO rate_windows AS kept_row (user_id, allowed, started_at, used, ends_at)
  SELECT $1, judged.* FROM (${judged("NULL::bigint[]", "NULL::bigint[]")}) AS judged
  ON CONFLICT (user_id) DO UPDATE SET (allowed, started_at, used, ends_at) = (${judged("kept_row.started_at", "kept_row.used")})
  RETURNING allowed, to_jsonb(started_at) AS "startedAt", to_jsonb(used) AS used`;

// Rows that are locked by a request are skipped, since they are not old.
const SWEEP = `
  DELETE FROM rate_windows WHERE user_id IN (
    SELECT user_id FROM rate_windows WHERE ends_at <= $1 LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED
  )`;

interface Taken {
  allowed: boolean;
  startedAt: number[];
  used: number[];
}

export class PostgresLimits implements Limits {
  readonly #pool: Pool;
  readonly #sweepEvery: number;
  #untilSweep: number;

  private constructor(pool: Pool, sweepEvery: number) {
    this.#pool = pool;
    this.#sweepEvery = sweepEvery;
    this.#untilSweep = sweepEvery;
  }

  static async open(
    url: string,
    { sweepEvery = SWEEP_EVERY, ...patience }: Patience & { sweepEvery?: number } = {},
  ): Promise<PostgresLimits> {
    const pool = openPool(url, patience);
    try {
      await migrate(pool, "limits", migrations);
      return new PostgresLimits(pool, sweepEvery);
    } catch (error) {
      await endPool(pool);
      throw error;
    }
  }

  async take(user: string, policy: readonly WindowPolicy[], now: number): Promise<Verdict> {
    if (policy.length === 0) return verdictOf(policy, true, [], now);
    const quotas = policy.map(({ quota }) => quota);
    const lengths = policy.map(({ seconds }) => seconds * 1000);
    const [taken] = await query<Taken>(this.#pool, TAKE, [user, quotas, lengths, now]);
    await this.#sweepNowAndThen(now);
    const { allowed, startedAt, used } = taken!;
    const counters = policy.map((_, i) => ({ startedAt: startedAt[i]!, used: used[i]! }));
    return verdictOf(policy, allowed, counters, now);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endPool(this.#pool);
  }

  async #sweepNowAndThen(now: number): Promise<void> {
    if (--this.#untilSweep > 0) return;
    this.#untilSweep = this.#sweepEvery;
    await query(this.#pool, SWEEP, [now]);
  }
}
