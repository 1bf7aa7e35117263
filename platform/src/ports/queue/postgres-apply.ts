/** Changes in PostgreSQL: many compare-and-sets with their counts, messages and removals in one statement. */
import type { Sql, Statement } from "../postgres/pool.ts";
import {
  ADD_COUNTS,
  COLUMNS,
  type Columns,
  changedColumns,
  clean,
  type JobRow,
  rowsOf,
  rowsParameter,
  SETTABLE,
  toJob,
} from "./postgres-jobs.ts";
import { APART, isApart, writePieces } from "./postgres-payloads.ts";
import type { Change, Outcome } from "./queue.ts";

/**
 * What a change does, apart from the values: changes of one shape share a statement, which then does nothing for the sake of
 * others (a statement for all shapes took 1.5 times as long). The engine makes about a dozen.
 */
interface Shape extends Columns {
  has: { result: boolean; progress: boolean; counts: boolean; webhook: boolean };
  dropChunks: boolean;
  lower: { retention: boolean; expiry: boolean };
  expiry: boolean;
  place: "front" | "back" | undefined;
}

function shapeOf({ set, clear = [], place, result, progress, lower = {}, also = {} }: Change): Shape {
  return {
    ...changedColumns(set, clear),
    has: {
      result: result !== undefined,
      progress: progress !== undefined,
      counts: also.count !== undefined,
      webhook: also.webhook ?? false,
    },
    dropChunks: also.dropChunks ?? false,
    lower: { retention: lower.retentionMs !== undefined, expiry: lower.expiresAt !== undefined },
    expiry: also.expiry ?? false,
    place: set.state === "IN_QUEUE" ? (place ?? "front") : undefined,
  };
}

function nameOf({ set, clear, has, dropChunks, lower, expiry, place }: Shape): string {
  const does = [has.result, has.progress, has.counts, has.webhook, dropChunks, lower.retention, lower.expiry, expiry];
  const flags = does.map(Number).join("");
  return `apply ${Object.keys(set).join(",")} -${clear.join(",")} ${flags} ${place ?? ""}`;
}

const statements = new Map<string, Statement>();

function statementOf(name: string, shape: Shape): Statement {
  let statement = statements.get(name);
  if (!statement) {
    // Names in PostgreSQL have at most 63 bytes.
    statement = { name: `apply_${statements.size}`, text: textOf(shape) };
    statements.set(name, statement);
  }
  return statement;
}

const POSITIONS = { front: "-nextval('job_returns')", back: "nextval('job_positions')" };

function textOf({ set, clear, has, dropChunks, lower, expiry, place }: Shape): string {
  const columns = Object.keys(set) as (keyof typeof SETTABLE)[];
  const given = {
    ...{ id: "text", states: "text[]", any_holder: "boolean", its_holder: "text", its_attempt: "integer" },
    ...Object.fromEntries(columns.map((name) => [`new_${name}`, SETTABLE[name]])),
    ...(has.result ? { new_result: "text" } : {}),
    ...(has.progress ? { new_progress: "text" } : {}),
    ...(lower.retention ? { less_retention_ms: "bigint" } : {}),
    ...(lower.expiry ? { less_expires_at: "bigint" } : {}),
    ...(has.counts ? { add_completed: "integer", add_failed: "integer", add_retried: "integer" } : {}),
  };
  const sets = [
    ...columns.filter((name) => !clear.includes(name)).map((name) => `${name} = new_${name}`),
    ...clear.map((name) => `${name} = NULL`),
    ...(has.result ? ["result = new_result"] : []),
    ...(has.progress ? ["progress = new_progress"] : []),
    ...(lower.retention ? [lowered("retention_ms")] : []),
    ...(lower.expiry ? [lowered("expires_at")] : []),
    ...(expiry ? ["expires_at = new_ended_at + jobs.retention_ms"] : []),
    ...(place ? ["position = coalesce(new_position, position)"] : []),
  ];
  const counts = has.counts
    ? "add_completed, add_failed, add_retried"
    : "0 AS add_completed, 0 AS add_failed, 0 AS add_retried";
  return `
    -- Rows are locked by id, so that no two writers wait for each other; whoever was faster is seen here, and not passed over.
    WITH fitting AS MATERIALIZED (
      SELECT * FROM (SELECT * FROM ${rowsOf("$1", given)} AS given ORDER BY id) AS given CROSS JOIN LATERAL (
        SELECT jobs.state AS was, jobs.low AS was_low FROM jobs
        WHERE jobs.id = given.id AND jobs.state = ANY (states)
          AND (any_holder OR jobs.holder IS NOT DISTINCT FROM its_holder)
          AND (its_attempt IS NULL OR jobs.attempt = its_attempt)
        FOR UPDATE
      ) AS held
    ),
    ${
      place
        ? `change AS MATERIALIZED (
      SELECT *, CASE WHEN was <> 'IN_QUEUE' THEN ${POSITIONS[place]} END AS new_position
      FROM (SELECT * FROM fitting ORDER BY n) AS fitting
    ),`
        : ""
    }
    done AS (
      UPDATE jobs SET ${sets.length > 0 ? sets.join(", ") : "state = jobs.state"}
      FROM ${place ? "change" : "fitting"} AS change WHERE jobs.id = change.id
      RETURNING n, was, was_low, ${counts}, ${COLUMNS}
    )
    ${has.counts || set.state !== undefined || set.low !== undefined ? `, counted AS (${COUNT})` : ""}
    ${has.webhook ? `, told AS (${TELL})` : ""}
    ${dropChunks ? ", chunks AS (DELETE FROM job_chunks USING done WHERE job_chunks.job = done.id)" : ""}
    ${has.result ? ", payloads AS (DELETE FROM job_payloads USING done WHERE job_payloads.job = done.id AND part = 'result')" : ""}
    -- The second parameter is the counters' slot, whether or not this shape counts.
    SELECT * FROM done WHERE $2::integer IS NOT NULL`;
}

/** Not LEAST, which takes what is given for what is not there. */
const lowered = (column: string) =>
  `${column} = CASE WHEN jobs.${column} > less_${column} THEN less_${column} ELSE jobs.${column} END`;

const COUNT = `
  INSERT INTO job_counters SELECT * FROM (
    SELECT endpoint, $2::integer, sum((state = 'IN_QUEUE')::integer - (was = 'IN_QUEUE')::integer) AS in_queue,
      sum((state = 'IN_QUEUE' AND low)::integer - (was = 'IN_QUEUE' AND was_low)::integer) AS low_in_queue,
      sum((state = 'IN_PROGRESS')::integer - (was = 'IN_PROGRESS')::integer) AS in_progress,
      sum(coalesce(add_completed, 0)) AS completed, sum(coalesce(add_failed, 0)) AS failed,
      sum(coalesce(add_retried, 0)) AS retried
    FROM done GROUP BY endpoint
  ) AS added WHERE (in_queue, low_in_queue, in_progress, completed, failed, retried) <> (0, 0, 0, 0, 0, 0)
  ORDER BY endpoint
  ${ADD_COUNTS}`;

const TELL = `
  INSERT INTO outbox (job, url, endpoint, tries, due_at)
  SELECT DISTINCT id, url, endpoint, 0, coalesce(ended_at, 0) FROM done, unnest(webhooks) AS url
  ON CONFLICT (job, url) DO UPDATE SET tries = 0, due_at = excluded.due_at`;

const FIND: Statement = { name: "find_jobs", text: `SELECT ${COLUMNS} FROM jobs WHERE id = ANY ($1)` };

/** Changes of one shape, no two of them of one job: what one statement can do. */
export interface Round {
  statement: Statement;
  /** Which of the list's changes these are. */
  numbers: number[];
  rows: object[];
}

export function inRounds(changes: readonly Change[]): Round[] {
  const rounds: Round[] = [];
  const byShape = new Map<string, number>();
  const lastOf = new Map<string, number>();
  for (const [n, change] of changes.entries()) {
    const shape = shapeOf(change);
    const name = nameOf(shape);
    // Changes of one job must see each other, in order, and one statement changes a job once.
    const known = byShape.get(name);
    const last = lastOf.get(change.id) ?? -1;
    const at = known !== undefined && last < known ? known : rounds.length;
    rounds[at] ??= { statement: statementOf(name, shape), numbers: [], rows: [] };
    rounds[at].numbers.push(n);
    rounds[at].rows.push(rowOf(change, shape));
    byShape.set(name, at);
    lastOf.set(change.id, at);
  }
  return rounds;
}

/**
 * Before several statements in one transaction: each would come to its jobs with the counters of the one before in its hands,
 * and another writer may have the jobs and wait for the counters.
 */
export async function lockJobs(sql: Sql, changes: readonly Change[]): Promise<void> {
  await sql("SELECT FROM jobs WHERE id = ANY ($1) ORDER BY id FOR UPDATE", [changes.map(({ id }) => clean(id))]);
}

/** Results that are kept apart are written too: that takes a transaction. */
export async function applyInRounds(sql: Sql, changes: readonly Change[], slot: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { statement, numbers, rows } of inRounds(changes)) {
    const done = await sql<JobRow & { n: number }>(statement, [rowsParameter(rows), slot]);
    for (const row of done) outcomes[numbers[row.n]!] = { applied: true, job: toJob(row) };
    const refused: number[] = [];
    for (const n of numbers) {
      const { id, result } = changes[n]!;
      if (!outcomes[n]) refused.push(n);
      else if (isApart(result)) await writePieces(sql, clean(id), "result", result);
    }
    if (refused.length > 0) await explain(sql, changes, refused, outcomes);
  }
  return outcomes;
}

/** Fills in what the refused changes found instead. */
async function explain(sql: Sql, changes: readonly Change[], refused: number[], outcomes: Outcome[]): Promise<void> {
  const ids = refused.map((n) => clean(changes[n]!.id));
  const rows = await sql<JobRow>(FIND, [ids]);
  const found = new Map(rows.map((row) => [row.id, toJob(row)]));
  for (const [i, n] of refused.entries()) {
    const now = found.get(ids[i]!);
    outcomes[n] = now ? { applied: false, now } : { applied: false };
  }
}

function rowOf({ id, when, result, progress, lower, also }: Change, { set }: Shape): object {
  const row: Record<string, unknown> = {
    id,
    states: when.states,
    any_holder: when.holder === undefined,
    its_holder: when.holder,
    its_attempt: when.attempt,
    new_result: isApart(result) ? APART : result,
    new_progress: progress,
    less_retention_ms: lower?.retentionMs,
    less_expires_at: lower?.expiresAt,
    add_completed: also?.count?.completed,
    add_failed: also?.count?.failed,
    add_retried: also?.count?.retried,
  };
  for (const name in set) row[`new_${name}`] = set[name as keyof typeof set];
  return row;
}
