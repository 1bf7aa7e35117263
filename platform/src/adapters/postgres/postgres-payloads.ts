/** The payloads and chunks of jobs in PostgreSQL. Long payloads are stored in pieces, so that no read or write blocks others. */

import type { Payload } from "../../ports/queue/job.ts";
import type { Chunk, ChunkPlace, Part, Queue, Reading } from "../../ports/queue/queue.ts";
import type { Sql, Statement } from "./pool.ts";
import { COLUMNS, type JobRow, rowsOf, rowsParameter, toJob } from "./postgres-jobs.ts";

/** Texts up to this length are sent with the batch and stored in the job's row. */
const INLINE_LENGTH = 32 * 1024;
export const PIECE_BYTES = 1024 * 1024;

/** The mark in the job's row for a payload that is kept apart. No JSON text is empty. */
export const APART = "";

export function isApart(payload: Payload | null | undefined): payload is Payload {
  return payload !== null && payload !== undefined && (typeof payload !== "string" || payload.length > INLINE_LENGTH);
}

export async function writePieces(sql: Sql, job: string, part: Part, payload: Payload): Promise<void> {
  const bytes = typeof payload === "string" ? Buffer.from(payload) : payload;
  for (let piece = 0; piece * PIECE_BYTES < bytes.length || piece === 0; piece++) {
    const slice = bytes.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES);
    const binary = Buffer.from(slice.buffer, slice.byteOffset, slice.length);
    await sql("INSERT INTO job_payloads (job, part, piece, bytes) VALUES ($1, $2, $3, $4)", [job, part, piece, binary]);
  }
}

/** Pieces of an earlier payload may still exist. When a short text replaces a long one they stay, since nobody reads them. */
export async function replacePieces(sql: Sql, job: string, part: Part, payload: Payload): Promise<void> {
  await sql("DELETE FROM job_payloads WHERE job = $1 AND part = $2", [job, part]);
  await writePieces(sql, job, part, payload);
}

/** Undefined when there are no pieces. */
export async function readPieces(sql: Sql, job: string, part: Part): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  for (;;) {
    const [row] = await sql<{ bytes: Buffer }>(
      "SELECT bytes FROM job_payloads WHERE job = $1 AND part = $2 AND piece = $3",
      [job, part, pieces.length],
    );
    if (!row) return pieces.length > 0 ? Buffer.concat(pieces) : undefined;
    pieces.push(row.bytes);
    if (row.bytes.length < PIECE_BYTES) return Buffer.concat(pieces);
  }
}

/** The total length of the payloads. Payloads that are kept apart are not read for it. */
export async function bytesOf(sql: Sql, reading: Reading, parts: readonly Part[]): Promise<number> {
  const apart = parts.filter((part) => reading[part] === APART);
  const inline = parts.reduce((sum, part) => sum + Buffer.byteLength(reading[part] ?? ""), 0);
  if (apart.length === 0) return inline;
  const [row] = await sql<{ bytes: number }>(
    "SELECT coalesce(sum(octet_length(bytes)), 0)::bigint AS bytes FROM job_payloads WHERE job = $1 AND part = ANY ($2)",
    [reading.job.id, apart],
  );
  return inline + row!.bytes;
}

/** How many jobs' bodies are changed in one transaction. Bodies that are kept apart are read one by one. */
const RESEAL_SLICE = 100;

/** Changes one slice of bodies with a sealed credential, after the id `after`. `last` is undefined when none were left. */
export async function resealSlice(
  sql: Sql,
  after: string,
  change: Parameters<Queue["reseal"]>[0],
): Promise<{ last: string | undefined; changed: number }> {
  const rows = await sql<{ id: string; body: string }>(
    `SELECT id, body FROM jobs WHERE sealed AND id > $1 ORDER BY id LIMIT ${RESEAL_SLICE} FOR UPDATE`,
    [after],
  );
  let changed = 0;
  for (const { id, body } of rows) {
    const made = change(body === APART ? (await readPieces(sql, id, "body"))! : body, id);
    if (made === undefined) continue;
    await sql("UPDATE jobs SET body = $2 WHERE id = $1", [id, isApart(made) ? APART : made]);
    if (isApart(made)) await replacePieces(sql, id, "body", made);
    else if (body === APART) await sql("DELETE FROM job_payloads WHERE job = $1 AND part = 'body'", [id]);
    changed++;
  }
  return { last: rows.at(-1)?.id, changed };
}

/** The caller still has to fetch payloads that are kept apart. */
export async function readJob(sql: Sql, id: string, parts: readonly Part[]): Promise<Reading | undefined> {
  const payloads = parts.map((part) => `, jobs.${part}`).join("");
  const name = ["read", ...parts].join("_");
  const [row] = await sql<JobRow & Record<Part, string | null>>(
    { name, text: `SELECT ${COLUMNS}${payloads} FROM jobs WHERE id = $1` },
    [id],
  );
  if (!row) return undefined;
  const known = parts.filter((part) => row[part] !== null).map((part) => [part, row[part]]);
  return { job: toJob(row), ...Object.fromEntries(known) };
}

const APPEND: Statement = {
  name: "append",
  text: `
    INSERT INTO job_chunks (job, attempt, sequence, text, key)
    SELECT given.id, given.attempt, given.sequence, given.text, given.key
    FROM (SELECT * FROM ${rowsOf("$1", {
      ...{ holder: "text", id: "text", attempt: "integer", sequence: "bigint", text: "text", key: "text" },
    })} AS given ORDER BY id, n) AS given
    CROSS JOIN LATERAL (
      SELECT FROM jobs
      WHERE jobs.id = given.id AND state = 'IN_PROGRESS' AND jobs.holder = given.holder AND jobs.attempt = given.attempt
      FOR SHARE
    ) AS held
    ON CONFLICT DO NOTHING`,
};

export async function appendChunks(sql: Sql, calls: readonly { holder: string; chunks: Chunk[] }[]): Promise<void> {
  const rows = calls.flatMap(({ holder, chunks }) => chunks.map((chunk) => ({ holder, ...chunk })));
  await sql(APPEND, [rowsParameter(rows)]);
}

/** PostgreSQL stores the lengths of values, so a text that does not fit is not read. */
export async function readChunks(
  sql: Sql,
  job: string,
  { attempt, sequence }: ChunkPlace,
  limit: number,
  bytes = Number.MAX_SAFE_INTEGER,
): Promise<Chunk[]> {
  return sql<Chunk>(
    `SELECT job AS id, attempt, sequence, text FROM (
       SELECT *, sum(octet_length(text)) OVER (ORDER BY attempt, sequence) AS so_far FROM (
         SELECT * FROM job_chunks WHERE job = $1 AND (attempt, sequence) > ($2, $3) ORDER BY attempt, sequence LIMIT $4
       ) AS found
     ) AS summed WHERE so_far <= $5 OR so_far = octet_length(text) ORDER BY attempt, sequence`,
    [job, attempt, sequence, limit, bytes],
  );
}
