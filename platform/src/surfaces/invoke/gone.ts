/** Knowing at once that a client has hung up. */
import type { FastifyReply } from "fastify";

/** Aborts when the connection goes, or when the answer is complete. */
export function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => gone.abort());
  if (raw.destroyed) gone.abort();
  return gone.signal;
}
