/** Turns of callers in PostgreSQL: which jobs of a shared endpoint are next, and how many each caller has. */
import type { CallerCounts } from "../../ports/queue/queue.ts";
import { textArray } from "./arrays.ts";
import type { Sql, Statement } from "./pool.ts";

/** Locks the endpoint's turn until the transaction ends, so that claims of several nodes follow each other. */
const TURN: Statement = {
  name: "turn",
  text: "INSERT INTO job_turns VALUES ($1, '') ON CONFLICT (endpoint) DO UPDATE SET last = job_turns.last RETURNING last",
};

const SET_TURN: Statement = { name: "set_turn", text: "UPDATE job_turns SET last = $2 WHERE endpoint = $1" };

const WAITING = "endpoint = $1 AND state = 'IN_QUEUE'";
const ALLOWED = "($4::text[] IS NULL OR id <> ALL ($4::text[]))";

/**
 * Steps from caller to caller along the index, and takes the first jobs of each. `round` counts a caller's jobs: all first ones come before
 * all second ones. Jobs without a caller are older than the sharing, and are found at the very front.
 */
const CHOOSE: Statement = {
  name: "choose_in_turns",
  text: `
    WITH RECURSIVE lines AS (
      SELECT priority.low, (
        SELECT caller FROM jobs WHERE ${WAITING} AND jobs.low = priority.low AND caller IS NOT NULL ORDER BY caller LIMIT 1
      ) AS caller FROM (VALUES (false), (true)) AS priority (low)
      UNION ALL
      SELECT lines.low, (
        SELECT jobs.caller FROM jobs WHERE ${WAITING} AND jobs.low = lines.low AND jobs.caller > lines.caller ORDER BY jobs.caller LIMIT 1
      ) FROM lines WHERE lines.caller IS NOT NULL
    ),
    next AS (
      SELECT id, lines.low, lines.caller, row_number() OVER (PARTITION BY lines.low, lines.caller ORDER BY position) AS round, position
      FROM lines CROSS JOIN LATERAL (
        SELECT id, position FROM jobs
        WHERE ${WAITING} AND jobs.low = lines.low AND jobs.caller = lines.caller AND ${ALLOWED} ORDER BY position LIMIT $2
      ) AS its WHERE lines.caller IS NOT NULL
      UNION ALL
      SELECT id, priority.low, NULL, 0, position FROM (VALUES (false), (true)) AS priority (low) CROSS JOIN LATERAL (
        SELECT id, position, caller FROM jobs WHERE ${WAITING} AND jobs.low = priority.low AND ${ALLOWED} ORDER BY position LIMIT $2
      ) AS oldest WHERE oldest.caller IS NULL
    )
    SELECT id FROM next ORDER BY low, round, caller <= $3, caller, position LIMIT $2`,
};

const COUNT: Statement = {
  name: "count_callers",
  text: `
    SELECT caller, sum(waits)::bigint AS "inQueue", sum(runs)::bigint AS "inProgress" FROM (
      SELECT caller, count(*) AS waits, 0 AS runs FROM jobs WHERE endpoint = $1 AND state = 'IN_QUEUE' AND caller IS NOT NULL GROUP BY caller
      UNION ALL
      SELECT caller, 0, count(*) FROM jobs WHERE endpoint = $1 AND state = 'IN_PROGRESS' AND caller IS NOT NULL GROUP BY caller
    ) AS counted GROUP BY caller ORDER BY caller`,
};

export interface TurnAsk {
  endpoint: string;
  limit: number;
  except: readonly string[];
}

/** Returns the ids of the next jobs in their order. Must run in a transaction, which ends with `setTurn`. */
export async function nextInTurns(sql: Sql, { endpoint, limit, except }: TurnAsk): Promise<string[]> {
  const [turn] = await sql<{ last: string }>(TURN, [endpoint]);
  const found = await sql<{ id: string }>(CHOOSE, [
    endpoint,
    limit,
    turn!.last,
    except.length > 0 ? textArray(except) : null,
  ]);
  return found.map(({ id }) => id);
}

/** The next jobs of one caller. Jobs without a caller are found through the index of all. */
const CHOOSE_OF: Statement = {
  name: "choose_of_caller",
  text: `
    SELECT id FROM (VALUES (false), (true)) AS priority (low) CROSS JOIN LATERAL (
      SELECT id, position FROM jobs
      WHERE ${WAITING} AND jobs.low = priority.low AND caller = $3 AND ${ALLOWED} ORDER BY position LIMIT $2
    ) AS its ORDER BY priority.low, position LIMIT $2`,
};

const CHOOSE_OWN: Statement = {
  name: "choose_without_caller",
  text: `
    SELECT id FROM jobs WHERE ${WAITING} AND caller IS NULL AND $3 = '' AND ${ALLOWED} ORDER BY low, position LIMIT $2`,
};

/** Returns the ids of the next jobs of one caller. Must run in a transaction, which holds the endpoint's turn. */
export async function nextOf(sql: Sql, { endpoint, limit, except, caller }: TurnAsk & { caller: string }) {
  await sql(TURN, [endpoint]);
  const skipped = except.length > 0 ? textArray(except) : null;
  const found = await sql<{ id: string }>(caller === "" ? CHOOSE_OWN : CHOOSE_OF, [endpoint, limit, caller, skipped]);
  return found.map(({ id }) => id);
}

/** Locks the holder's binding until the transaction ends. */
const BIND: Statement = {
  name: "bind",
  text: `
    INSERT INTO job_bindings VALUES ($1, $2, $3) ON CONFLICT (holder) DO UPDATE SET caller = job_bindings.caller
    RETURNING caller, xmax = 0 AS "isNew"`,
};

/** Binds a holder to a caller, unless it is bound. Returns the caller that it is bound to now. */
export async function bindTo(
  sql: Sql,
  { holder, endpoint, caller }: { holder: string; endpoint: string; caller: string },
): Promise<{ caller: string; isNew: boolean }> {
  const [binding] = await sql<{ caller: string; isNew: boolean }>(BIND, [holder, endpoint, caller]);
  return binding!;
}

export async function unbind(sql: Sql, holder: string): Promise<void> {
  await sql({ name: "unbind", text: "DELETE FROM job_bindings WHERE holder = $1" }, [holder]);
}

export async function setTurn(sql: Sql, endpoint: string, last: string): Promise<void> {
  await sql(SET_TURN, [endpoint, last]);
}

export function countCallers(sql: Sql, endpoint: string): Promise<CallerCounts[]> {
  return sql<CallerCounts>(COUNT, [endpoint]);
}
