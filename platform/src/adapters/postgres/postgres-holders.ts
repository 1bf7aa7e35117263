/** The holders of jobs in PostgreSQL, and the jobs that are due. The database's own clock decides which holders are alive. */
import { storable } from "../../kernel/storable.ts";
import type { Due, DueReason, HolderState } from "../../ports/queue/queue.ts";
import type { Sql, Statement } from "./pool.ts";
import { COLUMNS, type JobRow, NOT_AWAITED, rowsOf, rowsParameter, toJob } from "./postgres-jobs.ts";
import { DATABASE_NOW, notAhead } from "./time.ts";

/** After an outage, workers have this long to report before their jobs are given to others. */
const GRACE_MS = 30_000;
/** Holders without jobs are forgotten when they have not reported for this long. */
const FORGET_AFTER_MS = 3_600_000;

export interface Renewal {
  holder: string;
  endpoint: string;
  forMs: number;
}

/**
 * A busy worker reports thousands of times a second. Each report counts this much longer than asked, and for that time no further one is
 * sent.
 */
const LONGEST_SLACK_MS = 1000;
const slackOf = (forMs: number) => Math.min(LONGEST_SLACK_MS, Math.floor(forMs / 20));
const MOST_TOLD = 10_000;

/** Remembers which reports this node sent to the database, so that it does not repeat them at once. */
export class ToldRenewals {
  readonly #told = new Map<string, Renewal & { at: number }>();

  /** The report to send, or undefined if none is needed. */
  next(renewal: Renewal, now: number): Renewal | undefined {
    const { holder, endpoint, forMs } = renewal;
    const told = this.#told.get(holder);
    const slackMs = slackOf(forMs);
    if (told?.endpoint === endpoint && told.forMs === forMs && now - told.at < slackMs) return undefined;
    if (this.#told.size >= MOST_TOLD) this.#told.clear();
    this.#told.set(holder, { ...renewal, at: now });
    return { ...renewal, forMs: forMs + slackMs };
  }

  forget(holder: string): void {
    this.#told.delete(holder);
  }

  clear(): void {
    this.#told.clear();
  }
}

const RENEW: Statement = {
  name: "renew",
  text: `
    INSERT INTO holders (holder, endpoint, until)
    SELECT holder, endpoint, ${DATABASE_NOW} + "forMs"
    FROM ${rowsOf("$1", { holder: "text", endpoint: "text", '"forMs"': "bigint" })} AS given
    WHERE ${NOT_AWAITED} ORDER BY holder
    ON CONFLICT (holder) DO UPDATE SET until = excluded.until`,
};

const WAITING_DUE: Statement = {
  name: "due_waiting",
  text: `
    SELECT ${COLUMNS}, 'ttl' AS why FROM jobs WHERE state = 'IN_QUEUE' AND ttl_at <= ${notAhead("$1")} ORDER BY ttl_at LIMIT $2`,
};

const RUNNING_DUE: Statement = {
  name: "due_running",
  text: `
    SELECT ${COLUMNS}, CASE WHEN ttl_at <= ${notAhead("$1")} THEN 'ttl' WHEN deadline <= ${notAhead("$1")} THEN 'execution' ELSE 'holder' END AS why
    FROM jobs
    WHERE state = 'IN_PROGRESS' AND (LEAST(ttl_at, deadline) <= ${notAhead("$1")}
      OR NOT EXISTS (SELECT FROM holders WHERE holders.holder = jobs.holder AND until > ${DATABASE_NOW}))
    ORDER BY jobs.holder LIMIT $2`,
};

/** The last report about each holder counts. */
export async function renewHolders(sql: Sql, renewals: readonly Renewal[]): Promise<void> {
  const last = new Map(renewals.map((renewal) => [storable(renewal.holder), renewal]));
  await sql(RENEW, [rowsParameter([...last.values()])]);
}

const ALIVE: Statement = {
  name: "alive_holders",
  text: `
    SELECT holder, endpoint, until - ${DATABASE_NOW} AS "leftMs",
      (SELECT count(*) FROM jobs WHERE jobs.holder = holders.holder AND state = 'IN_PROGRESS') AS jobs,
      (SELECT caller FROM job_bindings WHERE job_bindings.holder = holders.holder) AS caller
    FROM holders WHERE ($1::text IS NULL OR endpoint = $1) AND until > ${DATABASE_NOW}`,
};

export async function aliveHolders(sql: Sql, endpoint?: string): Promise<HolderState[]> {
  const rows = await sql<HolderState & { caller: string | null }>(ALIVE, [endpoint ?? null]);
  return rows.map(({ caller, ...state }) => (caller === null ? state : { ...state, caller }));
}

export async function giveGrace(sql: Sql): Promise<void> {
  await sql(
    `UPDATE holders SET until = ${DATABASE_NOW} + $1 WHERE until < ${DATABASE_NOW} + $1
       AND EXISTS (SELECT FROM jobs WHERE jobs.holder = holders.holder AND state = 'IN_PROGRESS')`,
    [GRACE_MS],
  );
}

export async function dueJobs(sql: Sql, now: number, limit: number): Promise<Due[]> {
  const due = await sql<JobRow & { why: DueReason }>(WAITING_DUE, [now, limit]);
  if (due.length < limit) due.push(...(await sql<JobRow & { why: DueReason }>(RUNNING_DUE, [now, limit - due.length])));
  await sql(
    `DELETE FROM holders WHERE until <= ${DATABASE_NOW} - $1
       AND NOT EXISTS (SELECT FROM jobs WHERE jobs.holder = holders.holder AND state = 'IN_PROGRESS')`,
    [FORGET_AFTER_MS],
  );
  return due.map((row) => ({ job: toJob(row), why: row.why }));
}
