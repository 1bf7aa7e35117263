/** Enqueueing in PostgreSQL: jobs, their keys and their counts in one statement. */
import { storable } from "../../kernel/storable.ts";
import { waitingJob } from "../../ports/queue/decision.ts";
import type { Job, NewJob } from "../../ports/queue/job.ts";
import type { Enqueued } from "../../ports/queue/queue.ts";
import type { Beginning } from "../../ports/queue/standbys.ts";
import { bigintArray, textArray } from "./arrays.ts";
import type { Sql, Statement } from "./pool.ts";
import { ADD_COUNTS, COLUMNS, type JobRow, policyColumns, rowsOf, rowsParameter, toJob } from "./postgres-jobs.ts";
import { APART, isApart } from "./postgres-payloads.ts";

/**
 * For jobs without keys and other extras, which most are. Terms that many jobs share are sent once, and each job refers to them by number.
 * It returns nothing, since all of them are inserted.
 */
const INSERT_PLAIN: Statement = {
  name: "enqueue_plain",
  text: `
    WITH counted AS (
      INSERT INTO job_counters
      SELECT endpoint, $1::integer, sum(jobs), coalesce(sum(jobs) FILTER (WHERE low), 0), 0, 0, 0, 0
      FROM unnest($2::text[], $3::boolean[], $12::bigint[]) AS terms (endpoint, low, jobs) GROUP BY endpoint ORDER BY endpoint
      ${ADD_COUNTS}
    )
    INSERT INTO jobs (id, endpoint, state, low, position, created_at, ttl_at, queued_at,
                      ttl_ms, execution_ms, retention_ms, error_retries, body)
    SELECT id, ($2::text[])[t], 'IN_QUEUE', ($3::boolean[])[t], nextval('job_positions'),
           created_at, created_at + ($4::bigint[])[t], created_at,
           ($4::bigint[])[t], ($5::bigint[])[t], ($6::bigint[])[t], ($7::integer[])[t], body
    FROM unnest($8::text[], $9::bigint[], $10::bigint[], $11::text[]) AS new (id, t, created_at, body)`,
};

/**
 * The same where some jobs may begin at once. `b` is the number of the beginning that a job belongs to. Beginnings of an endpoint on which a
 * job waits do not happen, and their jobs wait too. It returns the beginnings that happened.
 */
const INSERT_BEGINNING: Statement = {
  name: "enqueue_beginning",
  text: `
    WITH empty AS MATERIALIZED (
      SELECT its FROM (SELECT DISTINCT unnest($13::text[]) AS its) AS asked
      WHERE (SELECT id FROM jobs WHERE endpoint = its AND state = 'IN_QUEUE' ORDER BY low, position LIMIT 1) IS NULL
    ),
    happening AS MATERIALIZED (
      SELECT array_agg(n) AS beginnings FROM unnest($13::text[]) WITH ORDINALITY AS asked (its, n)
      WHERE its IN (SELECT its FROM empty)
    ),
    new AS MATERIALIZED (
      SELECT id, t, created_at, body, CASE WHEN b = ANY ((SELECT beginnings FROM happening)::bigint[]) THEN b END AS b
      FROM unnest($8::text[], $9::bigint[], $10::bigint[], $11::text[], $12::bigint[]) AS given (id, t, created_at, body, b)
    ),
    counted AS (
      INSERT INTO job_counters
      SELECT ($2::text[])[t] AS endpoint, $1::integer,
        count(*) FILTER (WHERE b IS NULL), count(*) FILTER (WHERE b IS NULL AND ($3::boolean[])[t]), count(b), 0, 0, 0
      FROM new GROUP BY endpoint ORDER BY endpoint
      ${ADD_COUNTS}
    ),
    added AS (
      INSERT INTO jobs (id, endpoint, state, low, position, created_at, ttl_at, queued_at,
                        ttl_ms, execution_ms, retention_ms, error_retries, body,
                        attempt, spent, holder, started_at, deadline)
      SELECT id, ($2::text[])[t], CASE WHEN b IS NULL THEN 'IN_QUEUE' ELSE 'IN_PROGRESS' END, ($3::boolean[])[t], nextval('job_positions'),
             created_at, created_at + ($4::bigint[])[t], created_at,
             ($4::bigint[])[t], ($5::bigint[])[t], ($6::bigint[])[t], ($7::integer[])[t], body,
             num_nonnulls(b), num_nonnulls(b), ($14::text[])[b], ($15::bigint[])[b], ($15::bigint[])[b] + ($5::bigint[])[t]
      FROM new
    )
    SELECT unnest(beginnings) AS beginning FROM happening`,
};

const INSERT: Statement = {
  name: "enqueue",
  text: `
    WITH new AS MATERIALIZED (
      SELECT * FROM ${rowsOf("$1", {
        ...{
          id: "text",
          endpoint: "text",
          low: "boolean",
          created_at: "bigint",
          ttl_ms: "bigint",
          execution_ms: "bigint",
        },
        ...{ retention_ms: "bigint", error_retries: "integer", webhooks: "text[]", sealed: "boolean", body: "text" },
        ...{ key: "text", digest: "text", caller: "text", fare: "jsonb", trace: "text" },
      })} AS new
    ),
    -- Of two jobs with one key, the second waits here for the first to be committed, and then is not inserted.
    keyed AS (
      INSERT INTO job_keys (endpoint, key, job, digest)
      SELECT endpoint, key, id, digest FROM new WHERE key IS NOT NULL ORDER BY endpoint, key, n
      ON CONFLICT DO NOTHING RETURNING job
    ),
    added AS (
      INSERT INTO jobs (id, endpoint, state, low, position, created_at, ttl_at, queued_at,
                        ttl_ms, execution_ms, retention_ms, error_retries, webhooks, sealed, caller, fare, trace, body)
      SELECT id, endpoint, 'IN_QUEUE', low, nextval('job_positions'), created_at, created_at + ttl_ms, created_at,
             ttl_ms, execution_ms, retention_ms, error_retries, webhooks, sealed, caller, fare, trace, body
      FROM (SELECT * FROM new WHERE key IS NULL OR id IN (SELECT job FROM keyed) ORDER BY n) AS accepted
      RETURNING id, endpoint, low
    ),
    counted AS (
      INSERT INTO job_counters
      SELECT endpoint, $2, count(*), count(*) FILTER (WHERE low), 0, 0, 0, 0 FROM added GROUP BY endpoint ORDER BY endpoint
      ${ADD_COUNTS}
    )
    SELECT id FROM added`,
};

const FIND_KEYS: Statement = {
  name: "find_keys",
  text: `
    SELECT given.n, key.job, key.digest, ${COLUMNS}
    FROM ${rowsOf("$1", { endpoint: "text", key: "text" })} AS given
    JOIN job_keys AS key ON key.endpoint = given.endpoint AND key.key = given.key
    JOIN jobs ON jobs.id = key.job`,
};

/** Inserts the jobs whose key is not known yet, and returns their ids. */
export async function insertJobs(sql: Sql, jobs: readonly NewJob[], slot: number): Promise<Set<string> | "all"> {
  if (jobs.every(isPlain)) {
    const { columns, terms } = plainColumns(jobs);
    await sql(INSERT_PLAIN, [slot, ...columns, terms.map((its) => its.jobs)]);
    return "all";
  }
  const rows = jobs.map(({ id, endpoint, policy, createdAt, webhooks, sealed, body, idempotency, ...job }) => ({
    ...{ id, endpoint, created_at: createdAt, ...policyColumns(policy), webhooks, sealed },
    ...{ caller: job.caller, fare: job.fare, trace: job.trace },
    body: isApart(body) ? APART : body,
    key: idempotency?.key,
    digest: idempotency?.digest,
  }));
  const added = await sql<{ id: string }>(INSERT, [rowsParameter(rows), slot]);
  return new Set(added.map(({ id }) => id));
}

/** Inserts plain jobs, and returns those of the beginnings that happened. */
export async function insertBeginning(
  sql: Sql,
  jobs: readonly NewJob[],
  beginnings: readonly Beginning[],
  slot: number,
): Promise<Set<Beginning>> {
  const numbers = new Map(beginnings.flatMap((its, i) => its.jobs.map((job) => [job, i + 1])));
  const rows = await sql<{ beginning: number }>(INSERT_BEGINNING, [
    slot,
    ...plainColumns(jobs).columns,
    bigintArray(jobs.map((job) => numbers.get(job))),
    textArray(beginnings.map(({ ask }) => ask.endpoint)),
    textArray(beginnings.map(({ ask }) => ask.holder)),
    bigintArray(beginnings.map(({ now }) => now)),
  ]);
  return new Set(rows.map(({ beginning }) => beginnings[beginning - 1]!));
}

/** Whether a job has no key and no other extras. */
export const isPlain = ({ webhooks, sealed, idempotency, caller, trace }: NewJob) =>
  !webhooks && !sealed && !idempotency && caller === undefined && trace === undefined;

interface Terms extends Pick<NewJob, "endpoint" | "policy"> {
  /** Counts from 1, as PostgreSQL does. */
  number: number;
  jobs: number;
}

function areOf({ endpoint, policy }: Terms, job: NewJob): boolean {
  const { ttlMs, executionTimeoutMs, retentionMs, errorRetries, lowPriority } = job.policy;
  return (
    ttlMs === policy.ttlMs &&
    executionTimeoutMs === policy.executionTimeoutMs &&
    retentionMs === policy.retentionMs &&
    errorRetries === policy.errorRetries &&
    lowPriority === policy.lowPriority &&
    endpoint === job.endpoint
  );
}

function plainColumns(jobs: readonly NewJob[]): { columns: unknown[]; terms: Terms[] } {
  const terms: Terms[] = [];
  const numbers = jobs.map((job) => {
    let its = terms.find((one) => areOf(one, job));
    if (!its) {
      its = { number: terms.length + 1, endpoint: job.endpoint, policy: job.policy, jobs: 0 };
      terms.push(its);
    }
    its.jobs++;
    return its.number;
  });
  const policies = terms.map(({ policy }) => policyColumns(policy));
  const columns = [
    textArray(terms.map(({ endpoint }) => endpoint)),
    policies.map(({ low }) => low),
    ...NUMBERS_OF_POLICY.map((name) => policies.map((its) => its[name])),
    textArray(jobs.map(({ id }) => id)),
    bigintArray(numbers),
    bigintArray(jobs.map(({ createdAt }) => createdAt)),
    textArray(jobs.map(({ body }) => (isApart(body) ? APART : (body as string)))),
  ];
  return { columns, terms };
}

const NUMBERS_OF_POLICY = ["ttl_ms", "execution_ms", "retention_ms", "error_retries"] as const;

/** The jobs that hold the keys of these; undefined where a key became free meanwhile. */
export async function findKnown(sql: Sql, jobs: readonly NewJob[]): Promise<(Enqueued | undefined)[]> {
  const keys = jobs.map(({ endpoint, idempotency }) => ({ endpoint, key: idempotency!.key }));
  const rows = await sql<JobRow & { n: number; digest: string }>(FIND_KEYS, [rowsParameter(keys)]);
  const found = new Map(rows.map((row) => [row.n, row]));
  const known: (Enqueued | undefined)[] = [];
  for (const [n, { createdAt }] of jobs.entries()) {
    const row = found.get(n);
    const job = row && toJob(row);
    if (job?.expiresAt !== undefined && job.expiresAt <= createdAt) {
      // The job has expired and is only not removed yet, so its key is free.
      await sql("DELETE FROM job_keys WHERE job = $1", [job.id]);
      known.push(undefined);
    } else known.push(job && { job, known: true, digest: row!.digest });
  }
  return known;
}

/** The job exactly as the statement stores it. */
export function newlyQueued(job: NewJob): Job {
  return waitingJob({ ...job, id: storable(job.id) }, job.endpoint, job.policy);
}
