/** Knowing at once that a client has hung up. */
import type { Reply } from "../http/reply.ts";

/** Aborts when the connection goes, or when the answer is complete. */
export function goneSignal({ raw }: Reply): AbortSignal {
  const gone = new AbortController();
  raw.once("close", () => gone.abort());
  if (raw.destroyed) gone.abort();
  return gone.signal;
}
