/** Bytes as they are, in and out: bodies of any length that stream to whoever takes them, and answers with ranges and conditions. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ByteRange, IncomingBytes, OutgoingBytes, OutgoingText } from "../../kernel/bytes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import { bodyStalled, brokenOff, tooLarge, waitsForContinue, watchOf } from "./body.ts";
import { httpDate, rangeIn, unmetIn } from "./conditions.ts";
import { writeHead } from "./head.ts";
import type { Reply, Request } from "./reply.ts";

/** Yields a body as fast as it is taken. A client that sends nothing for too long is given up. */
export async function* arrivingIn(request: IncomingMessage, clock: Clock): AsyncIterable<Buffer> {
  const watch = watchOf(clock);
  // The request is not destroyed when this ends early: its socket would go with it, and nobody would read the answer.
  const chunks = request.iterator({ destroyOnReturn: false });
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<unknown, unknown>>();
    const arriving = { heardAt: clock.monotonic(), stalled: () => reject(bodyStalled()) };
    watch.add(arriving);
    chunks.next().then(resolve, reject);
    const { value, done } = await promise.finally(() => watch.delete(arriving));
    if (done) return;
    yield value as Buffer;
  }
}

interface Reading {
  limit: number;
  clock: Clock;
}

/** Throws if the body does not say how long it is, or is longer than the limit. */
export function incomingBytes(request: Request, response: ServerResponse, { limit, clock }: Reading): IncomingBytes {
  const announced = request.headers["content-length"];
  if (announced === undefined || !/^\d{1,16}$/.test(announced))
    throw problem("unreadable", "The request does not say how long its body is: send a Content-Length.");
  const length = Number(announced);
  if (length > limit) throw tooLarge(limit);
  return {
    length,
    async *read() {
      if (waitsForContinue.delete(request)) response.writeContinue();
      let came = 0;
      try {
        for await (const chunk of arrivingIn(request, clock)) {
          came += chunk.length;
          yield chunk;
        }
      } catch (error) {
        // Nobody reads this refusal. It only keeps a client that went away from looking like a fault of the server.
        throw request.destroyed && !request.complete ? brokenOff() : error;
      }
      if (came < length) throw brokenOff();
    },
  };
}

/** Sends the whole, a part of it, or that the client has it already, and lets go of the bytes. */
export async function sendBytes(request: Request, reply: Reply, bytes: OutgoingBytes): Promise<Reply> {
  await using held = bytes;
  const { size, etag, modifiedAt } = held;
  const unmet = unmetIn(request.headers, held);
  if (unmet === "failed") throw problem("conflicting", "The file is not the one that the condition names.");
  Object.assign(reply.headers, { ETag: etag, "Last-Modified": httpDate(modifiedAt), "Accept-Ranges": "bytes" });
  if (unmet === "unchanged") return sendHead(reply.code(304));
  const range = rangeIn(request.headers, size, held);
  if (range === "outside")
    throw problem("outside-range", `The file has ${size} bytes, and the range is not within them.`, {
      headers: { "Content-Range": `bytes */${size}` },
    });
  Object.assign(reply.headers, held.headers);
  const { start, end } = range ?? { start: 0, end: size - 1 };
  reply.header("Content-Length", String(end - start + 1));
  if (range) reply.code(206).header("Content-Range", `bytes ${start}-${end}/${size}`);
  if (request.method === "HEAD") return sendHead(reply);
  writeHead(reply.raw, reply.status, reply.headers);
  await streamTo(reply.raw, held, { start, end });
  return reply;
}

/** Sends text while it is made, as fast as the client takes it. One that cannot be made to its end breaks the connection off. */
export async function sendText(request: Request, reply: Reply, text: OutgoingText): Promise<Reply> {
  Object.assign(reply.headers, text.headers);
  if (request.method === "HEAD") return sendHead(reply);
  const pieces = text.read()[Symbol.asyncIterator]();
  try {
    const first = await pieces.next();
    writeHead(reply.raw, reply.status, reply.headers);
    await piped(Readable.from(following(first, pieces), { objectMode: false }), reply.raw);
  } finally {
    await pieces.return?.();
  }
  return reply;
}

async function* following(first: IteratorResult<string>, pieces: AsyncIterator<string>): AsyncGenerator<Buffer> {
  for (let piece = first; !piece.done; piece = await pieces.next()) yield Buffer.from(piece.value);
}

function sendHead(reply: Reply): Reply {
  writeHead(reply.raw, reply.status, reply.headers);
  reply.raw.end();
  return reply;
}

/** A file that became shorter meanwhile ends too early, and Node breaks the connection off: no client takes it for whole. */
export async function streamTo(
  raw: ServerResponse,
  bytes: Pick<OutgoingBytes, "read">,
  range: ByteRange,
): Promise<void> {
  const body =
    range.end < range.start
      ? Readable.from([])
      : Readable.from(bytes.read(range), { objectMode: false, highWaterMark: 0 });
  await piped(body, raw);
}

/** How Node says that a client hung up: in the middle of the answer, or before its beginning. */
const HUNG_UP = new Set<string | undefined>(["ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_UNABLE_TO_PIPE"]);

async function piped(body: Readable, raw: ServerResponse): Promise<void> {
  try {
    await pipeline(body, raw);
  } catch (error) {
    // That is nobody's fault.
    if (!HUNG_UP.has((error as NodeJS.ErrnoException).code)) throw error;
  } finally {
    body.destroy();
  }
}
