/** Large outputs in PostgreSQL: pieces that any node can read, stored under a name of their own until a job takes them. */
import { requestId } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import type { LargeOutput } from "../../ports/queue/job.ts";
import type { LargeOutputs } from "../../ports/queue/queue.ts";
import type { Sql, Statement } from "./pool.ts";
import { PIECE_BYTES } from "./postgres-payloads.ts";
import { DATABASE_NOW } from "./time.ts";

/**
 * Stands in place of the job's id and of the part: `staged-<time in ms>-<random>`. The times sort as text, since they have 13 digits until
 * the year 2286.
 */
const PREFIX = "staged-";
/** A worker that takes longer than this to send an output has to send it again. */
const STAGED_MS = 3_600_000;

/** A statement that is repeated because its answer was lost finds its piece already stored. */
const INSERT: Statement = {
  name: "stage_piece",
  text: "INSERT INTO job_payloads (job, part, piece, bytes) VALUES ($1, $1, $2, $3) ON CONFLICT DO NOTHING",
};

const READ: Statement = {
  name: "read_output",
  text: `SELECT substring(bytes FROM $4::integer FOR $5::integer) AS bytes FROM job_payloads
    WHERE job = $1 AND part = $2 AND piece = $3::integer`,
};

const FORGET: Statement = {
  name: "forget_staged",
  text: `DELETE FROM job_payloads WHERE job >= '${PREFIX}' AND job < '${PREFIX}' || (${DATABASE_NOW} - ${STAGED_MS})`,
};

/** Deletes the outputs of the jobs in `done`. */
export const DROP_OUTPUT = `DELETE FROM job_payloads USING done WHERE job_payloads.job = done.id AND part LIKE '${PREFIX}%'`;

export class PostgresOutputs implements LargeOutputs {
  readonly #sql: Sql;
  readonly #random: Random;

  constructor(sql: Sql, random: Random) {
    this.#sql = sql;
    this.#random = random;
  }

  async stage(pieces: AsyncIterable<Uint8Array>): Promise<string> {
    const [row] = await this.#sql<{ now: number }>(`SELECT ${DATABASE_NOW} AS now`);
    const key = `${PREFIX}${row!.now}-${requestId(this.#random)}${requestId(this.#random)}`;
    try {
      let piece = 0;
      for await (const bytes of inPieces(pieces)) await this.#sql(INSERT, [key, piece++, bytes]);
      return key;
    } catch (error) {
      await this.unstage(key).catch(() => undefined);
      throw error;
    }
  }

  async unstage(key: string): Promise<void> {
    await this.#sql("DELETE FROM job_payloads WHERE job = $1", [key]);
  }

  async open(job: string, large: LargeOutput): Promise<AsyncIterable<Uint8Array> | undefined> {
    const pieces = this.#read(job, large);
    const first = await pieces.next();
    return first.done ? undefined : startingWith(first.value, pieces);
  }

  /** Ends at once when the first piece is missing, and with an error when a later one is. */
  async *#read(job: string, { key, start, bytes }: LargeOutput): AsyncGenerator<Buffer> {
    for (let at = start; at < start + bytes; ) {
      const offset = at % PIECE_BYTES;
      const length = Math.min(PIECE_BYTES - offset, start + bytes - at);
      const place = [Math.floor(at / PIECE_BYTES), offset + 1, length];
      const [row] = await this.#sql<{ bytes: Buffer }>(READ, [job, key, ...place]);
      if (!row && at === start) return;
      if (row?.bytes.length !== length) throw problem("not-found", "the output was removed while it was read");
      yield row.bytes;
      at += length;
    }
  }
}

async function* startingWith(first: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/** Pieces of the size that a row holds. Only a few of them are in memory at once. */
async function* inPieces(given: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let gathered: Uint8Array[] = [];
  let length = 0;
  for await (const bytes of given) {
    gathered.push(bytes);
    length += bytes.length;
    if (length < PIECE_BYTES) continue;
    const whole = Buffer.concat(gathered);
    const end = length - (length % PIECE_BYTES);
    for (let at = 0; at < end; at += PIECE_BYTES) yield whole.subarray(at, at + PIECE_BYTES);
    gathered = [whole.subarray(end)];
    length -= end;
  }
  if (length > 0) yield Buffer.concat(gathered);
}

/** Runs in the transaction of the change that refers to the output. Only a complete output is taken. */
export async function takeStaged(sql: Sql, job: string, key: string): Promise<void> {
  const [taken] = await sql<{ pieces: number; last: number | null }>(
    `WITH taken AS (UPDATE job_payloads SET job = $1 WHERE job = $2 RETURNING piece)
     SELECT count(*) AS pieces, max(piece) AS last FROM taken`,
    [job, key],
  );
  if (taken!.last === null || taken!.pieces !== taken!.last + 1)
    throw problem("unavailable", "the output took too long to arrive; send it again");
}

/** Removes outputs that were staged long ago and that no job took: the node that staged them is gone. */
export async function forgetStaged(sql: Sql): Promise<void> {
  await sql(FORGET);
}
