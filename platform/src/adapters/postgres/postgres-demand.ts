/** What the live jobs in PostgreSQL need from the fleet. */

import type { Demand } from "../../ports/queue/queue.ts";
import type { Sql, Statement } from "./pool.ts";

/** Reads a few counters per endpoint, and the first waiting jobs through the index for claims. */
const DEMAND: Statement = {
  name: "demand",
  text: `
    SELECT endpoint, "inQueue", "lowPriorityInQueue", "inProgress", ARRAY (
      SELECT queued_at FROM jobs
      WHERE jobs.endpoint = counted.endpoint AND NOT low AND state = 'IN_QUEUE' ORDER BY low, position LIMIT $1
    ) AS "waitingSince"
    FROM (
      SELECT endpoint, sum(in_queue)::bigint AS "inQueue", sum(low_in_queue)::bigint AS "lowPriorityInQueue",
        sum(in_progress)::bigint AS "inProgress"
      FROM job_counters GROUP BY endpoint HAVING sum(in_queue) + sum(in_progress) > 0
    ) AS counted`,
};

export async function demand(sql: Sql, most: number): Promise<Demand[]> {
  const found = await sql<Demand>(DEMAND, [most]);
  return found.map((one) => ({ ...one, waitingSince: one.waitingSince.sort((a, b) => a - b) }));
}
