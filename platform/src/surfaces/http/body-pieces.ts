/** Reads a request body in pieces, no faster than the consumer takes them, for bodies too long to be held in memory. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import { STALL_MS, waitsForContinue } from "./body.ts";

/** Ends with an error when the client goes away or sends nothing for a while. The request stays open for an answer. */
export async function* bodyPieces(
  request: IncomingMessage,
  response: ServerResponse,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  if (waitsForContinue.delete(request)) response.writeContinue();
  const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  try {
    for (let piece = await nextPiece(pieces, clock); piece; piece = await nextPiece(pieces, clock)) yield piece;
  } finally {
    // The bytes that still arrive are discarded elsewhere. This is not awaited, since after a stall the next piece may never come. Its
    // error does not matter.
    pieces.return?.().catch(() => undefined);
  }
}

async function nextPiece(pieces: AsyncIterator<Buffer>, clock: Clock): Promise<Buffer | undefined> {
  const { promise: stalled, reject } = Promise.withResolvers<never>();
  const timer = clock.after(STALL_MS, () =>
    reject(problem("too-slow", `The request body stalled for ${STALL_MS / 1000} seconds.`)),
  );
  try {
    const next = await Promise.race([pieces.next().catch(brokenOff), stalled]);
    return next.done ? undefined : next.value;
  } finally {
    timer.cancel();
  }
}

function brokenOff(cause: unknown): never {
  throw problem("unreadable", "The request body ended before its announced length.", { cause });
}
