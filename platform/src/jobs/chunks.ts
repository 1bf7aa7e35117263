/** Splits streamed output into chunks of at most 1 MB each, without losing any of it. */
import { MIB } from "../kernel/operation.ts";

export const CHUNK_BYTES = MIB;

/** Returns the chunk objects for one post of a worker. A post that is not an object with an `output` becomes the output itself. */
export function chunksOf(text: string): string[] {
  const posted = readChunk(text);
  const plain = JSON.stringify(posted.output ?? null);
  if (Buffer.byteLength(plain) <= CHUNK_BYTES) return [JSON.stringify(posted)];
  const { output, ...rest } = posted;
  // A string is split into substrings. Any other value is split as JSON text.
  const pieces = splitText(typeof output === "string" ? output : plain);
  return pieces.map((piece) => JSON.stringify({ ...rest, output: piece }));
}

function readChunk(text: string): { output?: unknown; metrics?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    const isChunk = typeof value === "object" && value !== null && !Array.isArray(value) && "output" in value;
    return isChunk && isShortBeside(value) ? (value as { output: unknown }) : { output: value };
  } catch {
    return { output: text };
  }
}

/** The fields next to `output` are repeated in each of its pieces, so they must be short. */
const BESIDE_LENGTH = 64 * 1024;

function isShortBeside({ output: _, ...rest }: { output: unknown }): boolean {
  return JSON.stringify(rest).length <= BESIDE_LENGTH;
}

/** Returns the output of a handler that streamed nothing as chunks: those from index `from` on that fit into `most` bytes. */
export function outputChunks(output: unknown, from: number, most: number): { texts: string[]; more: boolean } {
  const pieces = piecesOf(output).slice(from);
  const texts: string[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    const text = JSON.stringify({ output: piece });
    bytes += Buffer.byteLength(text);
    if (bytes > most && texts.length > 0) break;
    texts.push(text);
  }
  return { texts, more: texts.length < pieces.length };
}

function piecesOf(output: unknown): unknown[] {
  if (output === undefined || (Array.isArray(output) && output.length === 0)) return [];
  const text = JSON.stringify(output);
  return Buffer.byteLength(text) <= CHUNK_BYTES ? [output] : splitText(typeof output === "string" ? output : text);
}

export function outputIn(result: string): unknown {
  return (JSON.parse(result) as { output?: unknown }).output;
}

/** Returns pieces whose JSON text has at most 1 MB each. A character is never cut in two. */
function splitText(text: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const piece = longestPiece(text, start);
    pieces.push(piece);
    start += piece.length;
  }
  return pieces.length > 0 ? pieces : [text];
}

/** Each guess is scaled by the size of the last one. Measuring character by character took a second per megabyte. */
function longestPiece(text: string, start: number): string {
  let length = CHUNK_BYTES - 2;
  for (;;) {
    const piece = whole(text.slice(start, start + length));
    const bytes = Buffer.byteLength(JSON.stringify(piece));
    if (bytes <= CHUNK_BYTES) return piece;
    length = Math.max(2, Math.min(length - 1, Math.floor((length * CHUNK_BYTES) / bytes)));
  }
}

/** Drops half of a surrogate pair at the end. */
const whole = (piece: string) => (piece.length > 1 ? piece.replace(/[\ud800-\udbff]$/, "") : piece);

/** Returns a chunk as readers get it. The `metrics` of the specification are added if the worker sent none. */
export function withMetrics(text: string, streamIndex: number): Record<string, unknown> {
  const chunk = JSON.parse(text) as Record<string, unknown>;
  if (chunk.metrics !== undefined) return chunk;
  return { ...chunk, metrics: { scenario: "stream", stream_index: streamIndex, ...tokensOf(chunk.output) } };
}

function tokensOf(output: unknown): Record<string, number> {
  if (typeof output !== "object" || output === null) return {};
  const counts = output as Record<string, unknown>;
  const named = ["input_tokens", "output_tokens"].filter((name) => Number.isInteger(counts[name]));
  return Object.fromEntries(named.map((name) => [name, counts[name] as number]));
}
