/** Keeps a connection open while its client still sends a body that is already answered, so that the client can read the answer. */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";
import { connectionEvent } from "./secure-server.ts";

/**
 * Bytes that still arrive are discarded up to this many, for up to five spans of this length, as long as each span brings some. Then the
 * connection is cut.
 */
const DISCARD_BYTES = 64 * MIB;
const DISCARD_MS = 2000;
const SPANS_AT_MOST = 5;
/**
 * Beyond this many at once, further ones are cut at once, so that no one can hold thousands of connections by sending bodies that are
 * refused.
 */
const LINGERING_AT_MOST = 256;

/** The request that a connection brought last. */
const LAST = Symbol("last request");
type Bringing = Socket & { [LAST]?: IncomingMessage };

/**
 * The system resets a connection that is closed with unread bytes, and the reset can destroy the answer before a client that is still
 * sending has read it. So the server closes only its own side, and reads until the body ends.
 */
export class Lingering {
  readonly #clock: Clock;
  readonly #discarding = new Set<IncomingMessage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch(server: Server): void {
    server.on(connectionEvent(server), (socket: Socket) => {
      const close = socket.destroySoon;
      // Node calls this to close a connection after the last answer on it.
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

  /** Must be called once the answer has left, if the request has not arrived completely. */
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
      // Nothing is unread any more, so a connection that was due to close can close.
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
