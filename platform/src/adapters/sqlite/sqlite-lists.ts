/** Lists of jobs from the SQLite file, read in a thread, since counting a million jobs takes a second. */
import type { DatabaseSync } from "node:sqlite";
import { TurnThread } from "../../kernel/turn-thread.ts";
import type { JobRow } from "../../ports/queue/journal.ts";
import type { JobFilter } from "../../ports/queue/queue.ts";
import { sql } from "./statement.ts";

export interface Listed {
  rows: JobRow[];
  total: number;
}

export type ListAnswer = { id: number } & ({ listed: Listed } | { failed: string });

export class SqliteLists {
  readonly #thread: TurnThread<{ filter: JobFilter }, ListAnswer>;

  constructor(file: string) {
    this.#thread = new TurnThread(new URL("./sqlite-lists-thread.ts", import.meta.url), file);
  }

  /** Lists of different endpoints take turns. */
  async list(filter: JobFilter): Promise<Listed> {
    const answer = await this.#thread.ask({ filter }, [], filter.endpoint);
    if ("failed" in answer) throw new Error(answer.failed);
    return answer.listed;
  }

  close(): Promise<void> {
    return this.#thread.end();
  }
}

export function listJobs(db: DatabaseSync, filter: JobFilter): Listed {
  const { endpoint, states, holder, caller, offset, limit, now } = filter;
  const where = `endpoint = ? AND (expires_at IS NULL OR expires_at > ?)
    ${states ? `AND state IN (${states.map(() => "?").join(", ")})` : ""}
    ${holder === undefined ? "" : "AND json_extract(doc, '$.holder') = ?"}
    ${caller === undefined ? "" : "AND json_extract(doc, '$.caller') = ?"}`;
  const values = [endpoint, now, ...(states ?? []), ...[holder, caller].filter((one) => one !== undefined)];
  const rows = sql(
    db,
    `SELECT id, endpoint, state, position, created_at AS createdAt, expires_at AS expiresAt, doc
     FROM jobs WHERE ${where} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`,
  ).all(...values, limit, offset) as unknown as JobRow[];
  const isWhole = [states, holder, caller].every((one) => one === undefined);
  const counting = isWhole ? COUNT_ALL : `SELECT count(*) AS total FROM jobs WHERE ${where}`;
  const counted = sql(db, counting).get(...(isWhole ? [endpoint, now, endpoint] : values)) as { total: number };
  return { rows, total: counted.total };
}

/** Both numbers come from indexes alone. To look into each row takes more than ten times as long. */
const COUNT_ALL = `SELECT (SELECT count(*) FROM jobs WHERE endpoint = ?)
  - (SELECT count(*) FROM jobs INDEXED BY ended_jobs WHERE expires_at <= ? AND endpoint = ?) AS total`;
