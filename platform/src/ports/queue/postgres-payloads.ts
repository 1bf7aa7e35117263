/** Payloads that are too long to travel with others: apart from the jobs, and in pieces, so that none holds up the event loop. */
import type { Sql } from "../postgres/pool.ts";
import type { Payload } from "./job.ts";
import type { Part } from "./queue.ts";

/** Texts up to this length travel with the batch and stand in the job's row. */
const INLINE_LENGTH = 32 * 1024;
const PIECE_BYTES = 1024 * 1024;

/** What the job's row says of a payload that is kept apart. No JSON text is empty. */
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

/** Undefined when there is none. */
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
