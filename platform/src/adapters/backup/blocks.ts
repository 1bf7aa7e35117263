/** Compresses a stream in blocks: each has its length before it, and an empty one is the end. Nothing may come behind that. */
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { type ByteReader, EndedEarly } from "./byte-reader.ts";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const BLOCK_BYTES = 1_048_576;
/** What cannot be compressed grows a little. */
const MOST_COMPRESSED = BLOCK_BYTES + 65_536;
const LENGTH_BYTES = 4;

export async function* blocks(plain: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of plain) {
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + BLOCK_BYTES - bytes);
      pieces.push(part);
      bytes += part.length;
      at += part.length;
      if (bytes < BLOCK_BYTES) continue;
      yield* block(pieces);
      [pieces, bytes] = [[], 0];
    }
  }
  if (bytes > 0) yield* block(pieces);
  yield lengthOf(0);
}

async function* block(pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  const compressed = await compress(Buffer.concat(pieces));
  yield lengthOf(compressed.length);
  yield compressed;
}

function lengthOf(bytes: number): Uint8Array {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(bytes);
  return length;
}

export async function* unblocked(outer: ByteReader): AsyncGenerator<Uint8Array> {
  for (;;) {
    const length = (await whole(outer, LENGTH_BYTES)).readUInt32BE();
    if (length === 0) break;
    if (length > MOST_COMPRESSED) throw new Error(`a block of ${length} bytes is longer than any`);
    yield await decompress(await whole(outer, length), { maxOutputLength: BLOCK_BYTES }).catch((cause: Error) => {
      // A block of which a part is missing is damaged, not the end of the file.
      throw new Error(cause.message, { cause });
    });
  }
  if (!(await outer.isAtEnd())) throw new Error("something comes behind its last block");
}

async function whole(outer: ByteReader, bytes: number): Promise<Buffer> {
  const pieces = await Array.fromAsync(outer.take(bytes)).catch((error: unknown) => {
    if (error instanceof EndedEarly) throw new EndedEarly("it ends in the middle of a block");
    throw error;
  });
  return Buffer.concat(pieces);
}
