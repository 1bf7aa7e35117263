/** Claims in PostgreSQL: all who ask at once share one statement, and no job is given to two. */
import type { Sql, Statement } from "../postgres/pool.ts";
import { ADD_COUNTS, COLUMNS, type JobRow, NOT_AWAITED, rowsOf, rowsParameter, toJob } from "./postgres-jobs.ts";
import type { Ask, Claimed } from "./queue.ts";

/**
 * One scan for each endpoint takes as many jobs as all its askers want, passing over what other nodes are taking; its rows are
 * then dealt out: an asker gets those whose number lies in its range.
 */
const CLAIM: Statement = {
  name: "claim",
  text: `
    WITH ask AS MATERIALIZED (
      SELECT * FROM ${rowsOf("$1", {
        ...{ endpoint: "text", holder: "text", now: "bigint", first: "bigint", last: "bigint", without: "text[]" },
      })} AS ask
    ),
    wanted AS MATERIALIZED (
      SELECT endpoint, max(last) AS total, max(without) AS without FROM ask GROUP BY endpoint
    ),
    found AS MATERIALIZED (
      SELECT waiting.* FROM wanted CROSS JOIN LATERAL (
        SELECT id, endpoint, low, position FROM jobs
        WHERE endpoint = wanted.endpoint AND state = 'IN_QUEUE'
          AND (wanted.without IS NULL OR id <> ALL (wanted.without))
        ORDER BY low, position LIMIT wanted.total FOR UPDATE SKIP LOCKED
      ) AS waiting
    ),
    dealt AS MATERIALIZED (
      SELECT found.id, found.number, ask.n, ask.holder, ask.now
      FROM (SELECT *, row_number() OVER (PARTITION BY endpoint ORDER BY low, position) AS number FROM found) AS found
      JOIN ask ON ask.endpoint = found.endpoint AND found.number BETWEEN ask.first AND ask.last
      WHERE ${NOT_AWAITED}
    ),
    begun AS (
      UPDATE jobs SET state = 'IN_PROGRESS', holder = dealt.holder, barred = NULL, attempt = attempt + 1, spent = spent + 1,
        started_at = dealt.now, deadline = dealt.now + execution_ms
      FROM dealt WHERE jobs.id = dealt.id
      RETURNING dealt.n, dealt.number, ${COLUMNS}, jobs.body
    ),
    counted AS (
      INSERT INTO job_counters
      SELECT endpoint, $2, -count(*), -count(*) FILTER (WHERE low), count(*), 0, 0, 0 FROM begun GROUP BY endpoint ORDER BY endpoint
      ${ADD_COUNTS}
    )
    SELECT * FROM begun ORDER BY number`,
};

/** Bodies that are kept apart are still to be fetched. */
export async function claimJobs(sql: Sql, asks: readonly Ask[], slot: number): Promise<Claimed[][]> {
  const claimed: Claimed[][] = asks.map(() => []);
  for (const round of inRounds(asks)) {
    const rows = rangesOf(round.map((n) => asks[n]!));
    const begun = await sql<JobRow & { n: number; body: string }>(CLAIM, [rowsParameter(rows), slot]);
    for (const row of begun) claimed[round[row.n]!]!.push({ job: toJob(row), body: row.body });
  }
  return claimed;
}

/** An asker with exceptions has its endpoint's scan to itself; such askers are rare. */
function inRounds(asks: readonly Ask[]): number[][] {
  const together: number[] = [];
  const alone: number[][] = [];
  for (const [n, { except, limit }] of asks.entries()) {
    if (limit <= 0) continue;
    if (except && except.length > 0) alone.push([n]);
    else together.push(n);
  }
  return together.length > 0 ? [together, ...alone] : alone;
}

function rangesOf(asks: Ask[]): object[] {
  const totals = new Map<string, number>();
  return asks.map(({ endpoint, holder, now, limit, except }) => {
    const before = totals.get(endpoint) ?? 0;
    totals.set(endpoint, before + limit);
    return { endpoint, holder, now, first: before + 1, last: before + limit, without: except };
  });
}
