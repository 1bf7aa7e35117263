/** Request bodies: refused before they are read, read with a limit, and never left to block an answer. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";

/** A client that sends nothing for this long is given up. */
const STALL_MS = 15_000;
/** After a refusal the rest of the body is read and thrown away, so that a client busy sending gets to read the answer. */
const DISCARD_MS = 2000;
const DISCARD_BYTES = 32 * MIB;

/** Marks a request whose client waits for `100 Continue` before it sends its body. */
export const waitsForContinue = new WeakSet<IncomingMessage>();

export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  { limit, clock }: { limit: number; clock: Clock },
): Promise<Buffer> {
  const declared = Number(request.headers["content-length"] ?? 0);
  if (declared > limit) throw tooLarge(limit);
  if (waitsForContinue.delete(request)) response.writeContinue();
  const chunks: Buffer[] = [];
  let received = 0;
  let timer = clock.after(STALL_MS, stalled);

  function stalled(): void {
    request.destroy(problem("request-timeout", `The request body stalled for ${STALL_MS / 1000} seconds.`));
  }

  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      received += chunk.length;
      if (received > limit) throw tooLarge(limit);
      chunks.push(chunk);
      timer.cancel();
      timer = clock.after(STALL_MS, stalled);
    }
  } finally {
    timer.cancel();
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, received);
}

/** Whether the client announced a body at all. */
export function hasBody(request: IncomingMessage): boolean {
  return request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
}

/** Lets an answer be read by a client that is still sending: what arrives is thrown away, within bounds, then the line is cut. */
export function discardRest(request: IncomingMessage, clock: Clock): void {
  if (request.complete || request.destroyed) return;
  let discarded = 0;
  const timer = clock.after(DISCARD_MS, () => request.socket.destroy());
  request.on("data", (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > DISCARD_BYTES) request.socket.destroy();
  });
  request.once("end", timer.cancel);
  request.once("close", timer.cancel);
  request.resume();
}

function tooLarge(limit: number) {
  const shown = limit % MIB === 0 ? `${limit / MIB} MB` : `${limit / 1024} KB`;
  return problem(
    "too-large",
    `The request body is larger than the limit of ${shown} (${limit} bytes) for this operation.`,
  );
}
