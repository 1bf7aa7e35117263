/** Claims in PostgreSQL: simultaneous requests share one statement, and no job is given to two workers. */

import type { Job } from "../../ports/queue/job.ts";
import type { Ask } from "../../ports/queue/queue.ts";
import { bigintArray, textArray } from "./arrays.ts";
import type { Sql, Statement } from "./pool.ts";
import { ADD_COUNTS, COLUMNS, FIELDS, type JobRow, NOT_AWAITED, toJob } from "./postgres-jobs.ts";
import { APART } from "./postgres-payloads.ts";
import { bindTo, nextInTurns, nextOf, setTurn, unbind } from "./postgres-turns.ts";

/** The length of a body. PostgreSQL stores the lengths of values, so no long text or piece is read for it. */
const BODY_BYTES = `CASE WHEN body <> '${APART}' THEN octet_length(body)
  ELSE (SELECT sum(octet_length(bytes)) FROM job_payloads WHERE job = jobs.id AND part = 'body') END`;

/**
 * One scan per endpoint takes as many jobs as all its askers want, and skips jobs that other nodes are taking. Its rows are then dealt out
 * to the askers. Jobs are numbered through all scans as if each scan found as many as it wants: `$5` holds the first job number of each
 * asker, so a number tells whose job it is. A job that is too long for its asker stays in the queue.
 */
const claiming = (name: string, waiting: string, { before = "", shown = "FROM begun" } = {}): Statement => ({
  name,
  text: `
    WITH ${before} found AS MATERIALIZED (
      SELECT id, number, asker, bytes, sum(bytes) OVER (PARTITION BY asker ORDER BY number) AS bytes_so_far
      FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS scan (endpoint, before, total) CROSS JOIN LATERAL (
        SELECT id, bytes, number, width_bucket(number, $5::bigint[]) AS asker FROM (
          SELECT id, bytes, scan.before + row_number() OVER (ORDER BY low, position) AS number FROM (
            ${waiting}
          ) AS waiting
        ) AS numbered
      ) AS found
      WHERE ${NOT_AWAITED}
    ),
    dealt AS (
      SELECT id, number, asker, bytes, ($6::text[])[asker] AS holder, ($7::bigint[])[asker] AS now
      FROM found WHERE bytes_so_far <= ($9::bigint[])[asker] OR bytes_so_far = bytes
    ),
    begun AS (
      UPDATE jobs SET state = 'IN_PROGRESS', holder = dealt.holder, barred = NULL, attempt = attempt + 1, spent = spent + 1,
        started_at = dealt.now, deadline = dealt.now + execution_ms
      FROM dealt WHERE jobs.id = dealt.id
      RETURNING dealt.asker, dealt.number, dealt.bytes, ${COLUMNS}, jobs.body, jobs.low
    ),
    counted AS (
      INSERT INTO job_counters
      SELECT endpoint, $8, -count(*), -count(*) FILTER (WHERE low), count(*), 0, 0, 0 FROM begun GROUP BY endpoint ORDER BY endpoint
      ${ADD_COUNTS}
    )
    SELECT asker, number, coalesce(bytes, 0)::bigint AS bytes, ${FIELDS}, body, (SELECT count(*) FROM found) - (SELECT count(*) FROM begun) AS left_over ${shown}`,
});

const nextWaiting = (condition: string) =>
  `SELECT id, low, position, ${BODY_BYTES} AS bytes FROM jobs
   WHERE endpoint = scan.endpoint AND state = 'IN_QUEUE' AND ${condition}
   ORDER BY low, position LIMIT scan.total FOR UPDATE SKIP LOCKED`;

const CLAIM = claiming("claim", nextWaiting("($4::text[] IS NULL OR id <> ALL ($4::text[]))"));

/**
 * The same for askers that must not get the jobs in `$4`: those that they are at, as a rule, which do not wait. If one of them waits, nothing
 * is claimed, and the one row that is returned says so. A row without an asker also stands for a claim that found nothing.
 */
const CLAIM_UNLESS = claiming("claim_unless", nextWaiting("NOT EXISTS (SELECT FROM clash)"), {
  // Each job is looked up by itself: `id = ANY` made the database read all jobs that wait.
  before: `clash AS MATERIALIZED (
    SELECT FROM unnest($4::text[]) AS at (job)
    CROSS JOIN LATERAL (SELECT FROM jobs WHERE id = at.job AND state = 'IN_QUEUE' LIMIT 1) AS waiting LIMIT 1
  ),`,
  shown: ", EXISTS (SELECT FROM clash) AS clashes FROM (VALUES (1)) AS always LEFT JOIN begun ON true",
});

/** Claims the jobs that were chosen, in that order, as far as nobody has changed them meanwhile. */
const CLAIM_CHOSEN = claiming(
  "claim_chosen",
  `SELECT id, false AS low, place AS position, ${BODY_BYTES} AS bytes
   FROM unnest($4::text[]) WITH ORDINALITY AS chosen (job, place) JOIN jobs ON jobs.id = chosen.job
   WHERE state = 'IN_QUEUE' ORDER BY place FOR UPDATE OF jobs SKIP LOCKED`,
);

type Row = JobRow & { asker: number; number: number; bytes: number; body: string; left_over: number };
type RowOrNone = Omit<Row, "asker"> & { asker: number | null; clashes: boolean };

/** A claimed job. `body` is its text, or a mark that the body is kept apart; `bytes` is the body's length. */
export interface Begun {
  job: Job;
  body: string;
  bytes: number;
}

/** Runs statements in one transaction. */
type Whole = <T>(work: (sql: Sql) => Promise<T>) => Promise<T>;

/** Requests for one endpoint, which share a scan. */
type Scan = number[];

/** Scans, one for each endpoint, that share a statement. */
interface Round {
  scans: Scan[];
  /** The round of one asker, whose exceptions are left out of its scan. */
  isApart?: boolean;
}

/** The caller still has to fetch bodies that are kept apart. */
export async function claimJobs(sql: Sql, asks: readonly Ask[], slot: number, whole: Whole): Promise<Begun[][]> {
  const claimed: Begun[][] = asks.map(() => []);
  const rounds = inRounds(asks);
  for (const { scans, isApart } of rounds) {
    const asked = scans.map((scan) => scan.map((n) => asks[n]!));
    const begun = isApart ? await sql<Row>(CLAIM, parametersOf(asked, slot)) : await begin(sql, asked, slot, whole);
    if (begun === "clash") {
      rounds.push(...clashing(scans, asks));
      continue;
    }
    begun.sort((one, other) => one.number - other.number);
    const askers = scans.flat();
    for (const row of begun)
      claimed[askers[row.asker - 1]!]!.push({ job: toJob(row), body: row.body, bytes: row.bytes });
    // A job that was too long for one asker goes to the askers behind it that got nothing.
    if (begun[0]?.left_over) rounds.push(...withoutServed(scans, claimed));
    else if (!isApart) for (const scan of asked) tellIfDrained(scan, begun);
  }
  return claimed;
}

async function begin(sql: Sql, asked: readonly Ask[][], slot: number, whole: Whole): Promise<Row[] | "clash"> {
  const [scan] = asked;
  const { inTurns, of } = scan![0]!;
  if (of !== undefined) return whole((inside) => claimBound(inside, scan![0]!, slot));
  if (inTurns) return whole((inside) => claimInTurns(inside, scan!, slot));
  const excepted = new Set(asked.flat().flatMap(exceptionsOf));
  if (excepted.size === 0) return sql<Row>(CLAIM, parametersOf(asked, slot));
  const rows = await sql<RowOrNone>(CLAIM_UNLESS, parametersOf(asked, slot, [...excepted]));
  return rows[0]!.clashes ? "clash" : rows.filter((row): row is RowOrNone & Row => row.asker !== null);
}

const exceptionsOf = ({ except = [] }: Ask) => except;

/** A scan that found fewer jobs than it wanted has seen the end of the queue. */
function tellIfDrained(asks: readonly Ask[], begun: readonly Row[]): void {
  const { endpoint, inTurns, of } = asks[0]!;
  if (inTurns || of !== undefined) return;
  const wanted = asks.reduce((sum, { limit }) => sum + limit, 0);
  const found = begun.reduce((sum, row) => sum + Number(row.endpoint === endpoint), 0);
  if (found < wanted) for (const { drained } of asks) drained?.();
}

/** The claim of a shared endpoint. Its statements hold the endpoint's turn together. */
async function claimInTurns(sql: Sql, asks: readonly Ask[], slot: number): Promise<Row[]> {
  const { endpoint, except = [] } = asks[0]!;
  const limit = asks.reduce((sum, ask) => sum + ask.limit, 0);
  const chosen = await nextInTurns(sql, { endpoint, limit, except });
  if (chosen.length === 0) return [];
  const begun = await sql<Row>(CLAIM_CHOSEN, parametersOf([asks], slot, chosen));
  const last = begun.reduce((latest, row) => (row.number > latest.number ? row : latest), begun[0]!);
  const caller = last?.rare?.caller;
  if (typeof caller === "string") await setTurn(sql, endpoint, caller);
  return begun;
}

/** The claim of a holder that works for one caller. A binding without a job is taken back. */
async function claimBound(sql: Sql, ask: Ask, slot: number): Promise<Row[]> {
  const { endpoint, holder, of: caller = "", limit, except = [] } = ask;
  const binding = await bindTo(sql, { holder, endpoint, caller });
  if (binding.caller !== caller) return [];
  const chosen = await nextOf(sql, { endpoint, caller, limit, except });
  const begun = chosen.length > 0 ? await sql<Row>(CLAIM_CHOSEN, parametersOf([[ask]], slot, chosen)) : [];
  if (begun.length === 0 && binding.isNew) await unbind(sql, holder);
  return begun;
}

function withoutServed(scans: readonly Scan[], claimed: readonly Begun[][]): Round[] {
  const hungry = scans.map((scan) => scan.filter((n) => claimed[n]!.length === 0)).filter((scan) => scan.length > 0);
  return hungry.length > 0 ? [{ scans: hungry }] : [];
}

/** An asker of one caller has a scan of its own, and so has one of a shared endpoint with exceptions. Such askers are rare. */
function inRounds(asks: readonly Ask[]): Round[] {
  const shared = new Map<string, Scan>();
  const rounds: Round[] = [];
  const turns = new Map<string, Scan>();
  for (const [n, ask] of asks.entries()) {
    const { endpoint, limit, inTurns, of } = ask;
    if (limit <= 0) continue;
    if (of !== undefined || (inTurns && exceptionsOf(ask).length > 0)) rounds.push({ scans: [[n]] });
    else if (inTurns) turns.set(endpoint, [...(turns.get(endpoint) ?? []), n]);
    else shared.set(endpoint, [...(shared.get(endpoint) ?? []), n]);
  }
  // A shared endpoint has a round of its own, because its scan is chosen before.
  for (const scan of turns.values()) rounds.push({ scans: [scan] });
  return shared.size > 0 ? [{ scans: [...shared.values()] }, ...rounds] : rounds;
}

/** Those with exceptions ask one after another, since a job that one of them must not get is for the others. */
function clashing(scans: readonly Scan[], asks: readonly Ask[]): Round[] {
  const isFree = (n: number) => exceptionsOf(asks[n]!).length === 0;
  const free = scans.map((scan) => scan.filter(isFree)).filter((scan) => scan.length > 0);
  const others = scans.flatMap((scan) => scan.filter((n) => !isFree(n)));
  const apart = others.map((n): Round => ({ scans: [[n]], isApart: true }));
  return free.length > 0 ? [{ scans: free }, ...apart] : apart;
}

/** `named` are jobs by id, for the statement that they are meant for. Without them, they are the exceptions of the only asker. */
function parametersOf(scans: readonly (readonly Ask[])[], slot: number, named?: readonly string[]): unknown[] {
  const totals = scans.map((asks) => asks.reduce((sum, { limit }) => sum + limit, 0));
  const asks = scans.flat();
  const listed = named ?? asks[0]!.except;
  return [
    textArray(scans.map(([ask]) => ask!.endpoint)),
    bigintArray(sumsBefore(totals)),
    bigintArray(totals),
    listed && listed.length > 0 ? textArray(listed) : null,
    bigintArray(sumsBefore(asks.map(({ limit }) => limit)).map((before) => before + 1)),
    textArray(asks.map(({ holder }) => holder)),
    bigintArray(asks.map(({ now }) => now)),
    slot,
    bigintArray(asks.map(({ bytes }) => bytes)),
  ];
}

function sumsBefore(numbers: readonly number[]): number[] {
  let sum = 0;
  return numbers.map((number) => {
    sum += number;
    return sum - number;
  });
}
