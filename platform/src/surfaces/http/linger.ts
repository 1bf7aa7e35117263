/** Connections whose client is still sending a body that is answered already: it gets to read the answer, within bounds. */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";

/** What still arrives is thrown away up to so much, and as long as something arrives in each of a few such spans; then the line is cut. */
const DISCARD_BYTES = 64 * MIB;
const DISCARD_MS = 2000;
const SPANS_AT_MOST = 5;
/** More of them at once, and the next ones are cut at once: nobody holds thousands of connections by sending what is refused. */
const LINGERING_AT_MOST = 256;

/** The request that a connection brought last. */
const LAST = Symbol("last request");
type Bringing = Socket & { [LAST]?: IncomingMessage };

/**
 * A connection that is closed while bytes wait unread is reset by the system, and the reset takes the answer with it before a client
 * that is busy sending has read it. So the line is closed on our side alone, and read until the body is over.
 */
export class Lingering {
  readonly #clock: Clock;
  readonly #discarding = new Set<IncomingMessage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => {
      const close = socket.destroySoon;
      // How Node closes a connection after the last answer on it.
      socket.destroySoon = () => {
        const request = (socket as Bringing)[LAST];
        if (request && this.#mayLinger(request)) socket.end();
        else close.call(socket);
      };
    });
  }

  came(request: IncomingMessage): void {
    (request.socket as Bringing)[LAST] = request;
  }

  /** To be called once the answer is out, where the request is not yet in. */
  discard(request: IncomingMessage): void {
    const { socket } = request;
    if (!this.#mayLinger(request)) {
      socket.destroySoon();
      return;
    }
    const end = socket.bytesRead + DISCARD_BYTES;
    const nextSpan = (spans: number): Timer => {
      const before = socket.bytesRead;
      return this.#clock.after(DISCARD_MS, () => {
        if (socket.bytesRead === before || spans === SPANS_AT_MOST) socket.destroy();
        else timer = nextSpan(spans + 1);
      });
    };
    let timer = nextSpan(1);
    const over = () => {
      timer.cancel();
      socket.off("close", over);
      this.#discarding.delete(request);
      // Nothing waits unread any more: what was to be closed is closed.
      if (socket.writableEnded) socket.destroy();
    };
    this.#discarding.add(request);
    request.on("data", () => {
      if (socket.bytesRead > end) socket.destroy();
    });
    socket.once("close", over);
    request.once("end", over).resume();
  }

  #mayLinger(request: IncomingMessage): boolean {
    return !request.complete && !request.destroyed && this.#discarding.size < LINGERING_AT_MOST;
  }
}
