/** The proxy: what is addressed to a load-balancing endpoint goes through the guards and the balancer to a worker. */

import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { parseAffinity } from "../../balancing/affinity.ts";
import type { Backend } from "../../balancing/balanced-group.ts";
import type { Asking, Balancer, Slot } from "../../balancing/balancer.ts";
import { requireScope } from "../../guards/scopes.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import type { EndpointType, KeptEndpoint } from "../../resources/endpoints/model.ts";
import type { EndpointService } from "../../resources/endpoints/service.ts";
import { refuseTooLarge } from "../http/body.ts";
import { ClientGone } from "../http/gone.ts";
import type { Pipeline } from "../http/pipeline.ts";
import { type Answering, Reply, type Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import type { Surface } from "../http/surface.ts";
import { keyOf } from "../invoke/surface.ts";
import { type Address, addressOf } from "./address.ts";
import { BODY_LIMIT } from "./answer.ts";
import { forward, type Passing, wasNotSent } from "./forward.ts";
import { requestHeaders, WORKER_HEADERS, withoutKey } from "./headers.ts";
import { isWebSocket, tunnel, watchForHangUp } from "./tunnel.ts";

export interface ProxyParts {
  pipeline: Pipeline;
  surface: Surface;
  endpoints: EndpointService;
  balancer: Balancer;
  clock: Clock;
  /** `<endpoint id>.<domain>` leads to an endpoint. */
  domain?: string | undefined;
}

/** An endpoint with this in its environment gets the caller's `Authorization` header too. */
const KEEPS_AUTHORIZATION = "MILLRACE_FORWARD_AUTH";

export class EndpointProxy implements Ahead {
  readonly #parts: ProxyParts;
  readonly #tunnels = new Set<Duplex>();

  constructor(parts: ProxyParts) {
    this.#parts = parts;
  }

  find(request: Request): Answering | undefined | Promise<Answering | undefined> {
    const address = this.#addressOf(request);
    if (!address) return undefined;
    if (address.form === "host") return this.#answering(address);
    const type = this.#parts.endpoints.typeOf(address.endpoint);
    if (type instanceof Promise) return type.then((type) => this.#ifBalanced(type, address, request));
    return this.#ifBalanced(type, address, request);
  }

  /** An endpoint of another type that is addressed so is refused over HTTP all the same. */
  mayUpgrade(request: Request): boolean {
    return isWebSocket(request) && this.#addressOf(request) !== undefined;
  }

  upgrade(request: Request, socket: Duplex, head: Buffer): void {
    // Its close follows, and says all that matters.
    socket.on("error", () => {});
    this.#tunnels.add(socket);
    socket.once("close", () => this.#tunnels.delete(socket));
    const stopWatching = watchForHangUp(socket);
    const reply = new Reply(responseOn(request, socket));
    const pass = (passing: Passing) => tunnel({ ...passing, socket, head, stopWatching });
    floating(this.#serve(this.#addressOf(request)!, request, reply, pass), () => socket.destroy());
  }

  /** A WebSocket has no end that one could wait for. */
  close(): void {
    for (const socket of this.#tunnels) socket.destroy();
  }

  #answering(address: Address): Answering {
    return (request, reply) => this.#serve(address, request, reply, forward);
  }

  #ifBalanced(type: EndpointType | undefined, address: Address, request: Request) {
    if (type !== "LOAD_BALANCER") return undefined;
    return this.#mayKnow(address, request).then((may) => (may ? this.#answering(address) : undefined));
  }

  /**
   * Others must not learn that there is such an endpoint: their requests are left to the routes, and get whatever a request to one
   * that does not exist would get there.
   */
  async #mayKnow({ endpoint }: Address, { headers }: Request): Promise<boolean> {
    const { surface, endpoints } = this.#parts;
    try {
      await endpoints.ownForInvocation(await surface.authenticate(headers), endpoint);
      return true;
    } catch (error) {
      if (isProblem(error, "unauthenticated") || isProblem(error, "not-found")) return false;
      if (isProblem(error, "not-allowed")) return true;
      // Nobody knows whether it is there.
      throw error;
    }
  }

  #addressOf({ url, headers }: Request): Address | undefined {
    return addressOf(url, headers.host, this.#parts.domain);
  }

  #serve(address: Address, request: Request, reply: Reply, pass: (passing: Passing) => Promise<void>): Promise<Reply> {
    const { pipeline, surface, clock } = this.#parts;
    return pipeline.answer(surface, request, reply, async (caller) => {
      const endpoint = await this.#admit(caller, address);
      refuseTooLarge(request, BODY_LIMIT);
      const asking = {
        perWorker: endpoint.scaling.type === "REQUEST_COUNT" ? endpoint.scaling.requestCount : 1,
        affinity: parseAffinity(affinityIn(request)),
        gone: new ClientGone(reply),
        since: clock.monotonic(),
      };
      const passing = { ...way(address, endpoint, request), request, response: reply.raw, own: reply.headers, clock };
      await this.#untilAccepted(address.endpoint, asking, (slot) => {
        for (const name of WORKER_HEADERS) reply.header(name, slot.backend.worker);
        return pass({ ...passing, slot });
      });
      return reply;
    });
  }

  /**
   * A worker that accepts no connection has got nothing of the request, so that another one, or the same one once it is well, can
   * have it. One that refuses it again although it was said to be well listens somewhere else, and nothing is to be waited for.
   */
  async #untilAccepted(endpoint: string, asking: Asking, send: (slot: Slot) => Promise<void>): Promise<void> {
    for (const refusedBy = new Set<Backend>(); ; ) {
      const slot = await this.#parts.balancer.acquire(endpoint, asking);
      try {
        return await send(slot);
      } catch (error) {
        if (!wasNotSent(error) || refusedBy.has(slot.backend)) throw error;
        refusedBy.add(slot.backend);
      } finally {
        slot.release();
      }
    }
  }

  /** The guards of invocation, and nothing of an endpoint to those whom they turn away. */
  async #admit(caller: Caller, { endpoint, form }: Address): Promise<KeptEndpoint> {
    const { doc } = await this.#parts.endpoints.ownForInvocation(caller, endpoint);
    requireScope(caller, "serverless:invoke");
    if (doc.type === "LOAD_BALANCER") return doc;
    const where = form === "host" ? `call it at /v2/${endpoint}/run` : "it takes no WebSockets";
    throw problem("rule-broken", `not allowed for QB API: this endpoint has a queue; ${where}`, {
      word: "not allowed for QB API",
    });
  }
}

function way({ target, form, prefix }: Address, { env }: KeptEndpoint, { rawHeaders, headers, socket }: Request) {
  const key = keyOf(headers.authorization);
  const keepsAuthorization = env[KEEPS_AUTHORIZATION] === "true";
  const sender = { remote: socket.remoteAddress, key, keepsAuthorization, prefix };
  return { target: withoutKey(target, key), form, headers: requestHeaders(rawHeaders, sender) };
}

function affinityIn({ headers }: Request): string | undefined {
  const [given] = WORKER_HEADERS.map((name) => headers[name.toLowerCase()]).filter(Boolean);
  return Array.isArray(given) ? given[0] : given;
}

/** For an answer in HTTP to a request that wanted to leave it. */
function responseOn(request: Request, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as Socket);
  response.once("finish", () => socket.end());
  return response;
}
