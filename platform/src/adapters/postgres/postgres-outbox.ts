/** The outbox in PostgreSQL. Reading steps from teller to teller and from target to target, however many messages each has. */

import { pageOf, TARGETS_IN_A_PAGE, tellersPageOf } from "../../ports/queue/outgoing.ts";
import type {
  Outgoing,
  OutgoingAsk,
  OutgoingPage,
  Queue,
  Teller,
  TellersAsk,
  TellersPage,
} from "../../ports/queue/queue.ts";
import type { Sql, Statement } from "./pool.ts";

/** Approximates the function `targetOf` in SQL. */
const TARGET_OF = `left(lower(coalesce(substring(url from '^[^/]*//[^/?#]*'), url)), 200)`;

/** Adds the messages for the jobs in `done`. */
export const TELL = `
  INSERT INTO outbox (job, url, endpoint, caller, target, tries, due_at)
  SELECT DISTINCT id, url, endpoint, coalesce(teller, ''), ${TARGET_OF}, 0, coalesce(ended_at, 0)
  FROM done, unnest(webhooks) AS url WHERE webhooks IS NOT NULL
  ON CONFLICT (job, url) DO UPDATE SET caller = excluded.caller, tries = 0, due_at = excluded.due_at`;

const tellerAfter = (endpoint: string, caller: string) => `
  SELECT endpoint, caller FROM outbox WHERE (endpoint, caller) > (${endpoint}, ${caller}) ORDER BY endpoint, caller LIMIT 1`;

const TELLERS: Statement = {
  name: "tellers",
  text: `
    WITH RECURSIVE telling AS (
      (SELECT 1 AS number, first.* FROM (${tellerAfter("$3::text", "$4::text")}) AS first)
      UNION ALL
      SELECT number + 1, later.* FROM telling CROSS JOIN LATERAL (
        ${tellerAfter("telling.endpoint", "telling.caller")}
      ) AS later WHERE number < $2::integer
    )
    SELECT endpoint, caller, EXISTS (
      SELECT FROM outbox WHERE outbox.endpoint = telling.endpoint AND outbox.caller = telling.caller AND due_at <= $1
    ) AS "isDue" FROM telling ORDER BY number`,
};

const firstOf = (after: string) => `
  SELECT job, url, endpoint, caller, target, tries, due_at FROM outbox
  WHERE endpoint = $1 AND caller = $2 AND target > ${after} ORDER BY target, due_at LIMIT 1`;

const OUTGOING: Statement = {
  name: "outgoing",
  text: `
    WITH RECURSIVE head AS (
      (SELECT 1 AS number, first.* FROM (${firstOf("$3")}) AS first)
      UNION ALL
      SELECT number + 1, later.* FROM head CROSS JOIN LATERAL (${firstOf("head.target")}) AS later
      WHERE number < ${TARGETS_IN_A_PAGE}
    )
    SELECT job, url, endpoint, caller, target, tries, due_at AS "dueAt" FROM head ORDER BY number`,
};

export async function tellers(sql: Sql, { now, limit, after }: TellersAsk): Promise<TellersPage> {
  const values = [now, limit, after?.endpoint ?? "", after?.caller ?? ""];
  return tellersPageOf(await sql<Teller & { isDue: boolean }>(TELLERS, values), limit);
}

export async function outgoing(sql: Sql, ask: OutgoingAsk): Promise<OutgoingPage> {
  return pageOf(await sql<Outgoing>(OUTGOING, [ask.endpoint, ask.caller, ask.after ?? ""]), ask);
}

export async function settle(sql: Sql, ...[job, url, next, seen]: Parameters<Queue["settle"]>): Promise<void> {
  const which =
    "job = $1 AND url = $2 AND tries = coalesce($3::integer, tries) AND due_at = coalesce($4::bigint, due_at)";
  const values = [job, url, seen?.tries ?? null, seen?.dueAt ?? null];
  if (next === "done") await sql(`DELETE FROM outbox WHERE ${which}`, values);
  else await sql(`UPDATE outbox SET tries = $5, due_at = $6 WHERE ${which}`, [...values, next.tries, next.dueAt]);
}
