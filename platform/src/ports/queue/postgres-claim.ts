/** Claims in PostgreSQL: all who ask at once share one statement, and no job is given to two. */
import type { Sql, Statement } from "../postgres/pool.ts";
import {
  ADD_COUNTS,
  COLUMNS,
  FIELDS,
  type JobRow,
  NOT_AWAITED,
  rowsOf,
  rowsParameter,
  toJob,
} from "./postgres-jobs.ts";
import type { Ask, Claimed } from "./queue.ts";

/**
 * One scan for each endpoint takes as many jobs as all its askers want, passing over what other nodes are taking; its rows are
 * then dealt out: `firsts` are the numbers of the first job of each asker.
 */
const CLAIM: Statement = {
  name: "claim",
  text: `
    WITH dealt AS MATERIALIZED (
      SELECT dealt.* FROM ${rowsOf("$1", {
        ...{
          endpoint: "text",
          total: "bigint",
          without: "text[]",
          firsts: "bigint[]",
          holders: "text[]",
          nows: "bigint[]",
        },
      })} AS given CROSS JOIN LATERAL (
        SELECT id, number, given.n, asker, given.holders[asker] AS holder, given.nows[asker] AS now FROM (
          SELECT id, number, width_bucket(number, given.firsts) AS asker FROM (
            SELECT id, row_number() OVER (ORDER BY low, position) AS number FROM (
              SELECT id, low, position FROM jobs
              WHERE endpoint = given.endpoint AND state = 'IN_QUEUE'
                AND (given.without IS NULL OR id <> ALL (given.without))
              ORDER BY low, position LIMIT given.total FOR UPDATE SKIP LOCKED
            ) AS found
          ) AS numbered
        ) AS dealt
      ) AS dealt
      WHERE ${NOT_AWAITED}
    ),
    begun AS (
      UPDATE jobs SET state = 'IN_PROGRESS', holder = dealt.holder, barred = NULL, attempt = attempt + 1, spent = spent + 1,
        started_at = dealt.now, deadline = dealt.now + execution_ms
      FROM dealt WHERE jobs.id = dealt.id
      RETURNING dealt.n, dealt.asker, dealt.number, ${COLUMNS}, jobs.body, jobs.low
    ),
    counted AS (
      INSERT INTO job_counters
      SELECT endpoint, $2, -count(*), -count(*) FILTER (WHERE low), count(*), 0, 0, 0 FROM begun GROUP BY endpoint ORDER BY endpoint
      ${ADD_COUNTS}
    )
    SELECT n, asker, number, ${FIELDS}, body FROM begun`,
};

/** Bodies that are kept apart are still to be fetched. */
export async function claimJobs(sql: Sql, asks: readonly Ask[], slot: number): Promise<Claimed[][]> {
  const claimed: Claimed[][] = asks.map(() => []);
  for (const round of inRounds(asks)) {
    const begun = await sql<JobRow & { n: number; asker: number; number: number; body: string }>(CLAIM, [
      rowsParameter(round.map((numbers) => scanFor(numbers.map((n) => asks[n]!)))),
      slot,
    ]);
    begun.sort((one, other) => one.number - other.number);
    for (const row of begun) claimed[round[row.n]![row.asker - 1]!]!.push({ job: toJob(row), body: row.body });
  }
  return claimed;
}

/** Each round is a list of scans, one for each endpoint; a scan is the numbers of its askers. */
function inRounds(asks: readonly Ask[]): number[][][] {
  const shared = new Map<string, number[]>();
  const rounds: number[][][] = [];
  for (const [n, { endpoint, except, limit }] of asks.entries()) {
    if (limit <= 0) continue;
    // An asker with exceptions has its scan to itself; such askers are rare.
    if (except && except.length > 0) rounds.push([[n]]);
    else shared.set(endpoint, [...(shared.get(endpoint) ?? []), n]);
  }
  return shared.size > 0 ? [[...shared.values()], ...rounds] : rounds;
}

function scanFor(asks: Ask[]): object {
  const firsts: number[] = [];
  let total = 0;
  for (const { limit } of asks) {
    firsts.push(total + 1);
    total += limit;
  }
  const { endpoint, except } = asks[0]!;
  return {
    endpoint,
    total,
    without: except,
    firsts,
    holders: asks.map(({ holder }) => holder),
    nows: asks.map(({ now }) => now),
  };
}
