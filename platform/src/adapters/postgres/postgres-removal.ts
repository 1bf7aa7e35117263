/** Removal in PostgreSQL: jobs are removed with everything that belongs to them, in slices that are each complete. */

import type { Sql, Statement } from "./pool.ts";
import { ADD_COUNTS, NOT_AWAITED } from "./postgres-jobs.ts";
import { forgetStaged } from "./postgres-outputs.ts";
import { notAhead } from "./time.ts";

/** Few enough that no slice keeps others waiting, and enough that a million jobs take only seconds. */
export const SLICE = 5_000;

/** Deletes everything of the jobs in `gone`. Parts that do not exist cost only an index lookup. */
const ALL_OF_THEM = `
  rows AS (DELETE FROM jobs USING gone WHERE jobs.id = gone.id),
  keys AS (DELETE FROM job_keys USING gone WHERE job_keys.job = gone.id),
  payloads AS (DELETE FROM job_payloads USING gone WHERE job_payloads.job = gone.id),
  chunks AS (DELETE FROM job_chunks USING gone WHERE job_chunks.job = gone.id),
  messages AS (DELETE FROM outbox USING gone WHERE outbox.job = gone.id)`;

/**
 * Locks the jobs before a second statement removes them. A single statement would wait for a worker's report and then not see what the
 * report wrote, so a chunk, a long result or a message would stay for good.
 */
const lockedWhere = (where: string, order: string) =>
  `SELECT id FROM jobs WHERE ${where} ORDER BY ${order} LIMIT ${SLICE} FOR UPDATE`;

/** Locks jobs up to the given position only: a job that is enqueued while a long purge runs counts as enqueued after it. */
const LOCK_WAITING: Statement = {
  name: "lock_waiting",
  text: lockedWhere("endpoint = $1 AND state = 'IN_QUEUE' AND position <= $2", "low, position"),
};

const PURGE: Statement = {
  name: "purge",
  text: `
    WITH gone AS MATERIALIZED (SELECT id, low, retention_ms FROM jobs WHERE id = ANY ($2::text[])), ${ALL_OF_THEM},
    remembered AS (
      INSERT INTO purged_jobs SELECT id, $3::bigint + retention_ms FROM gone ORDER BY id
      ON CONFLICT (id) DO UPDATE SET until = excluded.until
    )
    INSERT INTO job_counters
    SELECT $1, $4::integer, -count(*), -count(*) FILTER (WHERE low), 0, 0, 0, 0 FROM gone HAVING count(*) > 0
    ${ADD_COUNTS}`,
};

const LOCK_ALL: Statement = { name: "lock_endpoint", text: lockedWhere("endpoint = $1", "created_at, id") };

const REMOVE: Statement = {
  name: "remove_endpoint",
  text: `
    WITH gone AS MATERIALIZED (SELECT unnest($1::text[]) AS id), ${ALL_OF_THEM}
    SELECT FROM gone LIMIT 0`,
};

/** Several nodes may run this at once. Each skips rows that another is removing. */
const EXPIRE: Statement = {
  name: "expire",
  text: `
    WITH gone AS MATERIALIZED (
      SELECT id FROM jobs
      WHERE expires_at <= ${notAhead("$1")} AND NOT EXISTS (SELECT FROM outbox WHERE outbox.job = jobs.id) AND ${NOT_AWAITED}
      ORDER BY expires_at LIMIT $2 FOR UPDATE OF jobs SKIP LOCKED
    ), ${ALL_OF_THEM}
    SELECT count(*) AS removed FROM gone`,
};

const FORGET_PURGED: Statement = {
  name: "forget_purged",
  text: `
    DELETE FROM purged_jobs WHERE id IN (
      SELECT id FROM purged_jobs WHERE until <= ${notAhead("$1")} ORDER BY until LIMIT $2 FOR UPDATE SKIP LOCKED
    )`,
};

/** Removes one slice of the waiting jobs and returns their ids. Must run in a transaction. */
export async function purgeSlice(
  sql: Sql,
  endpoint: string,
  { upTo, now, slot }: { upTo: number; now: number; slot: number },
): Promise<string[]> {
  const ids = idsOf(await sql<{ id: string }>(LOCK_WAITING, [endpoint, upTo]));
  if (ids.length > 0) await sql(PURGE, [endpoint, ids, now, slot]);
  return ids;
}

/** Removes one slice of an endpoint's jobs and returns how many it removed. Must run in a transaction. */
export async function removeSlice(sql: Sql, endpoint: string): Promise<number> {
  const ids = idsOf(await sql<{ id: string }>(LOCK_ALL, [endpoint]));
  if (ids.length > 0) await sql(REMOVE, [ids]);
  return ids.length;
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);

export async function expireSlice(sql: Sql, now: number, limit: number): Promise<number> {
  const [row] = await sql<{ removed: number }>(EXPIRE, [now, limit]);
  await sql(FORGET_PURGED, [now, limit]);
  await forgetStaged(sql);
  return row!.removed;
}
