/** Changes in PostgreSQL: many compare-and-sets with their counts, messages and removals in one statement. */
import type { Sql, Statement } from "../postgres/pool.ts";
import {
  ADD_COUNTS,
  COLUMNS,
  changedColumns,
  clean,
  type JobRow,
  OPTIONAL,
  REQUIRED,
  rowsOf,
  rowsParameter,
  toJob,
} from "./postgres-jobs.ts";
import { APART, isApart, writePieces } from "./postgres-payloads.ts";
import type { Change, Outcome } from "./queue.ts";

const required = Object.keys(REQUIRED).map((name) => `${name} = coalesce(change.${name}, jobs.${name})`);
const optional = Object.keys(OPTIONAL).map(
  (name) =>
    `${name} = CASE WHEN '${name}' = ANY (change.clear) THEN NULL ELSE coalesce(change.${name}, jobs.${name}) END`,
);

const APPLY: Statement = {
  name: "apply",
  text: `
    WITH asked AS MATERIALIZED (
      SELECT * FROM ${rowsOf("$1", {
        ...{ id: "text", when_states: "text[]", any_holder: "boolean", when_holder: "text", when_attempt: "integer" },
        ...{ ...REQUIRED, ...OPTIONAL, clear: "text[]", at_back: "boolean" },
        ...{ has_result: "boolean", result: "text", has_progress: "boolean", progress: "text" },
        ...{ add_completed: "integer", add_failed: "integer", add_retried: "integer" },
        ...{ webhook: "boolean", drop_chunks: "boolean" },
      })} AS asked
    ),
    -- Rows are locked by id, so that no two writers wait for each other; whoever was faster is seen here, and not passed over.
    fitting AS MATERIALIZED (
      SELECT asked.*, held.* FROM (SELECT * FROM asked ORDER BY id) AS asked CROSS JOIN LATERAL (
        SELECT jobs.state AS was, jobs.low AS was_low FROM jobs
        WHERE jobs.id = asked.id AND jobs.state = ANY (when_states)
          AND (any_holder OR jobs.holder IS NOT DISTINCT FROM when_holder)
          AND (when_attempt IS NULL OR jobs.attempt = when_attempt)
        FOR UPDATE
      ) AS held
    ),
    change AS MATERIALIZED (
      SELECT *, CASE WHEN was <> 'IN_QUEUE' AND state = 'IN_QUEUE'
        THEN CASE WHEN at_back THEN nextval('job_positions') ELSE -nextval('job_returns') END END AS position
      FROM (SELECT * FROM fitting ORDER BY n) AS fitting
    ),
    done AS (
      UPDATE jobs SET ${required.join(", ")}, ${optional.join(", ")},
        position = coalesce(change.position, jobs.position),
        result = CASE WHEN has_result THEN change.result ELSE jobs.result END,
        progress = CASE WHEN has_progress THEN change.progress ELSE jobs.progress END
      FROM change WHERE jobs.id = change.id
      RETURNING change.n, was, was_low, has_result, add_completed, add_failed, add_retried, webhook, drop_chunks, ${COLUMNS}
    ),
    counted AS (
      INSERT INTO job_counters SELECT * FROM (
        SELECT endpoint, $2::integer, sum((state = 'IN_QUEUE')::integer - (was = 'IN_QUEUE')::integer) AS in_queue,
          sum((state = 'IN_QUEUE' AND low)::integer - (was = 'IN_QUEUE' AND was_low)::integer) AS low_in_queue,
          sum((state = 'IN_PROGRESS')::integer - (was = 'IN_PROGRESS')::integer) AS in_progress,
          sum(coalesce(add_completed, 0)) AS completed, sum(coalesce(add_failed, 0)) AS failed,
          sum(coalesce(add_retried, 0)) AS retried
        FROM done GROUP BY endpoint
      ) AS added WHERE (in_queue, low_in_queue, in_progress, completed, failed, retried) <> (0, 0, 0, 0, 0, 0)
      ORDER BY endpoint
      ${ADD_COUNTS}
    ),
    told AS (
      INSERT INTO outbox (job, url, endpoint, tries, due_at)
      SELECT DISTINCT id, url, endpoint, 0, coalesce(ended_at, 0) FROM done, unnest(webhooks) AS url WHERE webhook
      ON CONFLICT (job, url) DO UPDATE SET tries = 0, due_at = excluded.due_at
    ),
    chunks AS (DELETE FROM job_chunks USING done WHERE job_chunks.job = done.id AND drop_chunks),
    payloads AS (DELETE FROM job_payloads USING done WHERE job_payloads.job = done.id AND part = 'result' AND has_result)
    SELECT * FROM done`,
};

const FIND: Statement = { name: "find_jobs", text: `SELECT ${COLUMNS} FROM jobs WHERE id = ANY ($1)` };

/** Changes of one job must see each other, in order, and one statement changes a job once: so they come in rounds. */
export function inRounds(changes: readonly Change[]): number[][] {
  const rounds: number[][] = [];
  const seen = new Map<string, number>();
  for (const [n, { id }] of changes.entries()) {
    const round = seen.get(id) ?? 0;
    seen.set(id, round + 1);
    rounds[round] ??= [];
    rounds[round].push(n);
  }
  return rounds;
}

/** Applies changes of which no two are of one job. Results that are kept apart are written too: that takes a transaction. */
export async function applyRound(sql: Sql, changes: readonly Change[], slot: number): Promise<Outcome[]> {
  const done = await sql<JobRow & { n: number }>(APPLY, [rowsParameter(changes.map(rowOf)), slot]);
  const outcomes = new Map<number, Outcome>(done.map((row) => [row.n, { applied: true, job: toJob(row) }]));
  for (const [n, { id, result }] of changes.entries())
    if (isApart(result) && outcomes.has(n)) await writePieces(sql, id, "result", result);
  const refused = changes.map((_, n) => n).filter((n) => !outcomes.has(n));
  if (refused.length > 0) {
    const rows = await sql<JobRow>(FIND, [refused.map((n) => clean(changes[n]!.id))]);
    const now = new Map(rows.map((row) => [row.id, toJob(row)]));
    for (const n of refused) outcomes.set(n, refusal(now.get(clean(changes[n]!.id))));
  }
  return changes.map((_, n) => outcomes.get(n)!);
}

const refusal = (now: ReturnType<typeof toJob> | undefined): Outcome =>
  now ? { applied: false, now } : { applied: false };

function rowOf({ id, when, set, clear = [], place, result, progress, also = {} }: Change): object {
  const columns = changedColumns(set, clear);
  return {
    id,
    when_states: when.states,
    any_holder: when.holder === undefined,
    when_holder: when.holder,
    when_attempt: when.attempt,
    ...columns.set,
    clear: columns.clear,
    at_back: place === "back",
    has_result: result !== undefined,
    result: isApart(result) ? APART : result,
    has_progress: progress !== undefined,
    progress,
    add_completed: also.count?.completed,
    add_failed: also.count?.failed,
    add_retried: also.count?.retried,
    webhook: also.webhook ?? false,
    drop_chunks: also.dropChunks ?? false,
  };
}
