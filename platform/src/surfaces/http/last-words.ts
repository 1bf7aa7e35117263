/** Ends a connection that nothing else watches: one that is no HTTP, or has left it. */
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";

/** The client has this long to read why. */
const LAST_WORDS_MS = 2000;

/** A client that keeps its side open cannot keep the connection. */
export function endSoon(socket: Duplex, clock: Clock, lastWords?: string): void {
  if (socket.destroyed) return;
  socket.end(lastWords);
  const cut = clock.after(LAST_WORDS_MS, () => socket.destroy());
  socket.once("close", () => cut.cancel());
}
