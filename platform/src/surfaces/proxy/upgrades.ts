/** Connections that become WebSockets: each is answered as a request, and closed together with the server. */
import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { endSoon } from "../http/last-words.ts";
import { Reply, type Request } from "../http/reply.ts";
import type { Passing } from "./forward.ts";
import { tunnel, watchForHangUp } from "./tunnel.ts";

export class Upgrades {
  readonly #sockets = new Set<Duplex>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `serve` answers the request, and forwards it with the given function. */
  take(
    request: Request,
    socket: Duplex,
    head: Buffer,
    serve: (reply: Reply, pass: (passing: Passing) => Promise<void>) => Promise<unknown>,
  ): void {
    // The error is ignored: a close follows, and it says all that matters.
    socket.on("error", () => {});
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    const stopWatching = watchForHangUp(socket);
    const reply = new Reply(responseOn(request, socket, this.#clock));
    const pass = (passing: Passing) => tunnel({ ...passing, socket, head, stopWatching });
    floating(serve(reply, pass), () => socket.destroy());
  }

  /** Ends all WebSockets, since they would not end by themselves. */
  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** Makes an HTTP response for a request that asked to leave HTTP. */
function responseOn(request: Request, socket: Duplex, clock: Clock): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once("finish", () => endSoon(socket, clock));
  return response;
}
