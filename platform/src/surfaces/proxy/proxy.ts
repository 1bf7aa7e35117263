/** The proxy: what is addressed to a load-balancing endpoint goes through the guards and the balancer to a worker. */
import type { Duplex } from "node:stream";
import { parseAffinity } from "../../balancing/affinity.ts";
import type { Backend } from "../../balancing/balanced-group.ts";
import type { Asking, Balancer, Slot } from "../../balancing/balancer.ts";
import { requireScope } from "../../guards/scopes.ts";
import type { Caller } from "../../kernel/caller.ts";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import type { Reason } from "../../kernel/reason.ts";
import type { EndpointType, KeptEndpoint } from "../../resources/endpoints/model.ts";
import type { EndpointItem, EndpointService } from "../../resources/endpoints/service.ts";
import { refuseTooLarge } from "../http/body.ts";
import { ClientGone } from "../http/gone.ts";
import type { Pipeline } from "../http/pipeline.ts";
import type { Answering, Reply, Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import type { Surface } from "../http/surface.ts";
import { keyOf } from "../invoke/surface.ts";
import { type Address, addressOf } from "./address.ts";
import { forward, isNodeAway, type Passing, wasNotSent } from "./forward.ts";
import { requestHeaders, WORKER_HEADERS, withoutKey } from "./headers.ts";
import type { Limits, Receiver } from "./receiver.ts";
import { isWebSocket } from "./tunnel.ts";
import { Upgrades } from "./upgrades.ts";

export interface ProxyParts {
  pipeline: Pipeline;
  surface: Surface;
  endpoints: EndpointService;
  balancer: Balancer;
  clock: Clock;
  /** Why an endpoint has no worker. */
  whyNoWorker?: ((endpoint: string) => Promise<Reason | undefined>) | undefined;
  /** `<endpoint id>.<domain>` leads to an endpoint. */
  domain?: string | undefined;
}

/** Between two looks whether a node that cannot be reached is back. */
const NODE_AWAY_MS = 250;
/** A worker has this long for the whole of its answer. */
const LIMITS: Limits = { bodyBytes: 30 * MIB, ms: 330_000, until: "end" };

/** An endpoint with this in its environment gets the caller's `Authorization` header too. */
const KEEPS_AUTHORIZATION = "MILLRACE_FORWARD_AUTH";

/** Who asks, and for what, where that was found out before the request is answered. */
interface Known {
  caller?: Caller;
  item?: EndpointItem;
}

export class EndpointProxy implements Ahead {
  readonly #parts: ProxyParts;
  readonly #upgrades = new Upgrades();

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
    const serve = (reply: Reply, pass: (passing: Passing) => Promise<void>) =>
      this.#serve(this.#addressOf(request)!, request, reply, pass);
    this.#upgrades.take(request, socket, head, serve);
  }

  close(): void {
    this.#upgrades.close();
  }

  #answering(address: Address, known?: Known): Answering {
    return (request, reply) => this.#serve(address, request, reply, forward, known);
  }

  #ifBalanced(type: EndpointType | undefined, address: Address, request: Request) {
    if (type !== "LOAD_BALANCER") return undefined;
    return this.#whoMayKnow(address, request).then((known) => known && this.#answering(address, known));
  }

  /**
   * Others must not learn that there is such an endpoint: their requests are left to the routes, and get whatever a request to one
   * that does not exist would get there. What is found out here is not asked for again.
   */
  async #whoMayKnow({ endpoint }: Address, request: Request): Promise<Known | undefined> {
    const { surface, endpoints } = this.#parts;
    try {
      const caller = await surface.authenticate(request);
      return { caller, item: await endpoints.ownForInvocation(caller, endpoint) };
    } catch (error) {
      if (isProblem(error, "unauthenticated") || isProblem(error, "not-found")) return undefined;
      // Refused once more, where refusals are answered.
      if (isProblem(error, "not-allowed")) return {};
      // Nobody knows whether it is there.
      throw error;
    }
  }

  #addressOf({ url, headers }: Request): Address | undefined {
    return addressOf(url, headers.host, this.#parts.domain);
  }

  #serve(
    address: Address,
    request: Request,
    reply: Reply,
    pass: (passing: Passing) => Promise<void>,
    { caller: known, item }: Known = {},
  ): Promise<Reply> {
    const { pipeline, surface, clock, whyNoWorker } = this.#parts;
    const recognising = known ? { ...surface, authenticate: () => known } : surface;
    return pipeline.answer(recognising, request, reply, async (caller) => {
      const endpoint = await this.#admit(caller, address, item);
      refuseTooLarge(request, LIMITS.bodyBytes);
      const asking = {
        perWorker: endpoint.scaling.type === "REQUEST_COUNT" ? endpoint.scaling.requestCount : 1,
        affinity: parseAffinity(affinityIn(request)),
        gone: new ClientGone(reply),
        since: clock.monotonic(),
        ...(whyNoWorker && { why: whyNoWorker }),
      };
      const passing = { ...way(address, endpoint, request), request, response: reply.raw, own: reply.headers, clock };
      await this.#untilAccepted(address.endpoint, asking, (slot) => {
        for (const name of WORKER_HEADERS) reply.header(name, slot.backend.worker);
        return pass({ ...passing, receiver: receiverOf(slot) });
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
      let isAway = false;
      try {
        return await send(slot);
      } catch (error) {
        isAway = isNodeAway(error);
        if (!isAway && (!wasNotSent(error) || refusedBy.has(slot.backend))) throw error;
        if (!isAway) refusedBy.add(slot.backend);
      } finally {
        slot.release();
      }
      // It says nothing of the worker; those of a node that is known to be gone are not to choose from any more.
      if (isAway) await sleep(this.#parts.clock, NODE_AWAY_MS);
    }
  }

  /** The guards of invocation, and nothing of an endpoint to those whom they turn away. */
  async #admit(caller: Caller, { endpoint, form }: Address, known?: EndpointItem): Promise<KeptEndpoint> {
    const { doc } = known ?? (await this.#parts.endpoints.ownForInvocation(caller, endpoint));
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

function receiverOf(slot: Slot): Receiver {
  const { backend, gone } = slot;
  return { called: `worker ${backend.worker}`, backend, gone, limits: LIMITS, refused: (why) => slot.refused(why) };
}
