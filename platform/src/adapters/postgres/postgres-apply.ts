/** Applies many job changes per statement in PostgreSQL, and reports the outcome of each. */
import { storable } from "../../kernel/storable.ts";
import type { JobChange, Outcome } from "../../ports/queue/queue.ts";
import type { Sql, Statement } from "./pool.ts";
import { Round } from "./postgres-change.ts";
import { COLUMNS, type JobRow, toJob } from "./postgres-jobs.ts";
import { takeStaged } from "./postgres-outputs.ts";
import { isApart, replacePieces } from "./postgres-payloads.ts";

export const FIND: Statement = { name: "find_jobs", text: `SELECT ${COLUMNS} FROM jobs WHERE id = ANY ($1)` };

/**
 * Locks the jobs before a transaction runs several statements. Otherwise each statement would lock its jobs while the transaction holds
 * counters from the statement before, and another writer may hold the jobs and wait for the counters.
 */
export async function lockJobs(sql: Sql, changes: readonly JobChange[]): Promise<void> {
  await sql("SELECT FROM jobs WHERE id = ANY ($1) ORDER BY id FOR UPDATE", [changes.map(({ id }) => id)]);
}

/** Results that are kept apart are written too, and staged outputs are taken. Changes with either must run in a transaction. */
export async function applyInRounds(sql: Sql, changes: readonly JobChange[], slot: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const round of Round.all(changes)) {
    const { statement, numbers } = round;
    const done = await sql<JobRow & { n: number }>(statement, round.parameters(slot));
    for (const row of done) outcomes[numbers[row.n - 1]!] = { applied: true, job: toJob(row) };
    const refused: number[] = [];
    for (const n of numbers) {
      const { id, result, set } = changes[n]!;
      if (!outcomes[n]) refused.push(n);
      else if (isApart(result)) await replacePieces(sql, id, "result", result);
      if (outcomes[n] && set.large) await takeStaged(sql, id, set.large.key);
    }
    if (refused.length > 0) await explain(sql, changes, refused, outcomes);
  }
  return outcomes;
}

/** Adds to each refused change the job as it is now. */
async function explain(sql: Sql, changes: readonly JobChange[], refused: number[], outcomes: Outcome[]): Promise<void> {
  const ids = refused.map((n) => storable(changes[n]!.id));
  const rows = await sql<JobRow>(FIND, [ids]);
  const found = new Map(rows.map((row) => [row.id, toJob(row)]));
  for (const [i, n] of refused.entries()) {
    const now = found.get(ids[i]!);
    outcomes[n] = now ? { applied: false, now } : { applied: false };
  }
}
