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

/** Removes jobs up to the given position only: a job that is enqueued while a long purge runs counts as enqueued after it. */
const PURGE: Statement = {
  name: "purge",
  text: `
    WITH gone AS MATERIALIZED (
      SELECT id, low, retention_ms FROM jobs WHERE endpoint = $1 AND state = 'IN_QUEUE' AND position <= $2
      ORDER BY low, position LIMIT ${SLICE} FOR UPDATE
    ), ${ALL_OF_THEM},
    remembered AS (
      INSERT INTO purged_jobs SELECT id, $3::bigint + retention_ms FROM gone ORDER BY id
      ON CONFLICT (id) DO UPDATE SET until = excluded.until
    ),
    counted AS (
      INSERT INTO job_counters
      SELECT $1, $4::integer, -count(*), -count(*) FILTER (WHERE low), 0, 0, 0, 0 FROM gone HAVING count(*) > 0
      ${ADD_COUNTS}
    )
    SELECT id FROM gone`,
};

const REMOVE: Statement = {
  name: "remove_endpoint",
  text: `
    WITH gone AS MATERIALIZED (
      SELECT id FROM jobs WHERE endpoint = $1 ORDER BY created_at, id LIMIT ${SLICE} FOR UPDATE
    ), ${ALL_OF_THEM}
    SELECT id FROM gone`,
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

/** Removes one slice of the waiting jobs and returns their ids. */
export async function purgeSlice(
  sql: Sql,
  endpoint: string,
  { upTo, now, slot }: { upTo: number; now: number; slot: number },
): Promise<string[]> {
  return (await sql<{ id: string }>(PURGE, [endpoint, upTo, now, slot])).map(({ id }) => id);
}

/** Removes one slice of an endpoint's jobs and returns how many it removed. */
export async function removeSlice(sql: Sql, endpoint: string): Promise<number> {
  return (await sql(REMOVE, [endpoint])).length;
}

export async function expireSlice(sql: Sql, now: number, limit: number): Promise<number> {
  const [row] = await sql<{ removed: number }>(EXPIRE, [now, limit]);
  await sql(FORGET_PURGED, [now, limit]);
  await forgetStaged(sql);
  return row!.removed;
}
