/** The proxy: requests for a load-balancing endpoint pass the guards and the balancer and go to a worker. */
import type { Duplex } from "node:stream";
import { type Affinity, parseAffinity } from "../../balancing/affinity.ts";
import type { Backend } from "../../balancing/balanced-group.ts";
import type { Balancer } from "../../balancing/balancer.ts";
import type { Slot } from "../../balancing/slot.ts";
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
import { plainly } from "../http/plain-door.ts";
import { PlainRequest } from "../http/plain-exchange.ts";
import type { Answering, Reply, Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import type { Credentials, Surface } from "../http/surface.ts";
import { keyOf } from "../invoke/surface.ts";
import { type Address, addressOf } from "./address.ts";
import { forward, isNodeAway, type Passing, wasNotSent } from "./forward.ts";
import { requestHeaders, WORKER_HEADERS, withoutKey } from "./headers.ts";
import type { Limits, Receiver } from "./receiver.ts";
import { SentHead } from "./sent-head.ts";
import { isWebSocket } from "./tunnel.ts";
import { Upgrades } from "./upgrades.ts";
import { wayOf } from "./way.ts";

export interface ProxyParts {
  pipeline: Pipeline;
  surface: Surface;
  endpoints: EndpointService;
  balancer: Balancer;
  clock: Clock;
  /** Explains why an endpoint has no worker. */
  whyNoWorker?: ((endpoint: string) => Promise<Reason | undefined>) | undefined;
  /** `<endpoint id>.<domain>` is the address of an endpoint. */
  domain?: string | undefined;
}

/** How long to wait before trying a node again that could not be reached. */
const NODE_AWAY_MS = 250;
/** A worker has this long for its whole answer. */
const LIMITS: Limits = { bodyBytes: 30 * MIB, ms: 330_000, until: "end" };

/** An endpoint with this environment variable also gets the caller's `Authorization` header. */
const KEEPS_AUTHORIZATION = "MILLRACE_FORWARD_AUTH";

/** What was found out about a request before it is answered. */
interface Known {
  caller?: Caller;
  item?: EndpointItem;
}

export class EndpointProxy implements Ahead {
  readonly #parts: ProxyParts;
  readonly #upgrades = new Upgrades();
  /** A caller stays the same object for as long as it is cached. */
  readonly #surfaces = new WeakMap<Caller, Surface>();

  constructor(parts: ProxyParts) {
    this.#parts = parts;
  }

  find(request: Credentials): Answering | undefined | Promise<Answering | undefined> {
    const address = this.#addressOf(request);
    if (!address) return undefined;
    if (address.form === "host") return this.#answering(address);
    const type = this.#parts.endpoints.typeOf(address.endpoint);
    if (type instanceof Promise) return type.then((type) => this.#ifBalanced(type, address, request));
    return this.#ifBalanced(type, address, request);
  }

  /** This is also true for endpoints of other types. They are refused over HTTP later. */
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
    return plainly((request, reply) => this.#serve(address, request, reply, forward, known), "load-balancing");
  }

  #ifBalanced(type: EndpointType | undefined, address: Address, request: Credentials) {
    if (type !== "LOAD_BALANCER") return undefined;
    const known = this.#whoMayKnow(address, request);
    if (known instanceof Promise) return known.then((known) => known && this.#answering(address, known));
    return known && this.#answering(address, known);
  }

  /**
   * Finds out whether the caller may know of the endpoint. If not, the request is left to the routes, which answer as if the endpoint did
   * not exist. The result is not looked up again later. With a cached caller and endpoint it returns at once, since promises would cost
   * more than the lookup.
   */
  #whoMayKnow({ endpoint }: Address, request: Credentials): Known | undefined | Promise<Known | undefined> {
    const { surface, endpoints } = this.#parts;
    try {
      const caller = surface.authenticate(request);
      if (caller instanceof Promise)
        return caller
          .then(async (caller) => ({ caller, item: await endpoints.ownForInvocation(caller, endpoint) }))
          .catch(knownDespite);
      const item = endpoints.ownForInvocation(caller, endpoint);
      return item instanceof Promise ? item.then((item) => ({ caller, item })).catch(knownDespite) : { caller, item };
    } catch (error) {
      return knownDespite(error);
    }
  }

  #addressOf({ url, headers }: Credentials): Address | undefined {
    return addressOf(url, headers.host, this.#parts.domain);
  }

  #serve(
    address: Address,
    request: Request,
    reply: Reply,
    pass: (passing: Passing) => Promise<void>,
    { caller, item }: Known = {},
  ): Promise<Reply> {
    const { pipeline } = this.#parts;
    return pipeline.answer(caller ? this.#recognising(caller) : this.#parts.surface, request, reply, (caller) =>
      this.#pass({ caller, item, address, request, reply, pass }),
    );
  }

  /** The surface for requests of a caller who is already known. */
  #recognising(caller: Caller): Surface {
    let surface = this.#surfaces.get(caller);
    if (!surface) {
      surface = { ...this.#parts.surface, authenticate: () => caller };
      this.#surfaces.set(caller, surface);
    }
    return surface;
  }

  /** This is no async function, which would cost every request one more promise and turn. */
  #pass(admission: Admission): Promise<Reply> {
    const { caller, item, address } = admission;
    if (item) return this.#send(admission, item.doc);
    const found = Promise.resolve(this.#parts.endpoints.ownForInvocation(caller, address.endpoint));
    return found.then(({ doc }) => this.#send(admission, doc));
  }

  #send({ caller, address, request, reply, pass }: Admission, doc: KeptEndpoint): Promise<Reply> {
    const { clock } = this.#parts;
    const { scaling, env } = admitted(caller, address, doc);
    refuseTooLarge(request, LIMITS.bodyBytes);
    const seeking: Seeking = {
      endpoint: address.endpoint,
      perWorker: scaling.type === "REQUEST_COUNT" ? scaling.requestCount : 1,
      affinity: parseAffinity(affinityIn(request)),
      since: clock.monotonic(),
      reply,
      isCounted: pass === forward,
    };
    const sent = workerHead(address, env, request);
    return this.#untilAccepted(seeking, (slot) => {
      for (const name of WORKER_HEADERS) reply.header(name, slot.backend.worker);
      const receiver = new WorkerReceiver(slot);
      return pass({ receiver, sent, form: address.form, request, response: reply.raw, own: reply.headers, clock });
    });
  }

  /**
   * Sends a request until a worker accepts it. A worker that accepts no connection got nothing of it, so another worker can have it, or the
   * same one once it is healthy again. A worker that refuses twice, although it counts as healthy, listens somewhere else, so waiting is
   * useless.
   */
  async #untilAccepted(seeking: Seeking, send: (slot: Slot) => Promise<void>): Promise<Reply> {
    const { clock } = this.#parts;
    for (let refusedBy: Set<Backend> | undefined; ; ) {
      const slot = this.#slotNow(seeking) ?? (await this.#slotLater(seeking));
      const takenAt = clock.monotonic();
      let isAway = false;
      try {
        await send(slot);
        this.#count(seeking, takenAt, clock.monotonic());
        return seeking.reply;
      } catch (error) {
        isAway = isNodeAway(error);
        if (!isAway && (!wasNotSent(error) || refusedBy?.has(slot.backend))) throw this.#countedFailure(seeking, error);
        if (!isAway) refusedBy = (refusedBy ?? new Set()).add(slot.backend);
      } finally {
        slot.release();
      }
      // An unreachable node says nothing about the worker. Once the node counts as gone, its workers are no longer chosen.
      if (isAway) await sleep(clock, NODE_AWAY_MS);
    }
  }

  #count({ endpoint, since, reply, isCounted }: Seeking, takenAt: number, endedAt: number): void {
    if (isCounted)
      this.#parts.balancer.tally.answered(endpoint, reply.raw.statusCode, takenAt - since, endedAt - takenAt);
  }

  /** A client that left says nothing about the endpoint. */
  #countedFailure({ endpoint, isCounted }: Seeking, error: unknown): unknown {
    if (isCounted && !isProblem(error, "abandoned")) this.#parts.balancer.tally.failed(endpoint);
    return error;
  }

  #slotNow({ endpoint, perWorker, affinity }: Seeking): Slot | undefined {
    return this.#parts.balancer.take(endpoint, perWorker, affinity);
  }

  #slotLater(seeking: Seeking): Promise<Slot> {
    const { balancer, whyNoWorker } = this.#parts;
    const { endpoint, perWorker, affinity, since, reply } = seeking;
    const gone = new ClientGone(reply);
    const asking = { perWorker, affinity, gone, since, ...(whyNoWorker && { why: whyNoWorker }) };
    return balancer.acquire(endpoint, asking).catch((error) => {
      throw this.#countedFailure(seeking, error);
    });
  }
}

/** A request that has reached its guards. */
interface Admission extends Required<Pick<Known, "caller">>, Pick<Known, "item"> {
  address: Address;
  request: Request;
  reply: Reply;
  pass(passing: Passing): Promise<void>;
}

/** A request that needs a worker. */
interface Seeking {
  endpoint: string;
  perWorker: number;
  affinity: Affinity | undefined;
  /** On the monotonic clock. The wait after a refusal counts as part of the same wait. */
  since: number;
  reply: Reply;
  /** A WebSocket may be open for days, so it is not counted with requests. */
  isCounted: boolean;
}

/** What is known of a request that failed to authenticate or find its endpoint; undefined if the caller may not know of the endpoint. */
function knownDespite(error: unknown): Known | undefined | Promise<never> {
  if (isProblem(error, "unauthenticated") || isProblem(error, "not-found")) return undefined;
  // The pipeline refuses it again, in the right form.
  if (isProblem(error, "not-allowed")) return {};
  // It is unknown whether the endpoint exists.
  return Promise.reject(error);
}

/** Applies the guards of invocation. Callers that they refuse learn nothing about the endpoint. */
function admitted(caller: Caller, { endpoint, form }: Address, doc: KeptEndpoint): KeptEndpoint {
  requireScope(caller, "serverless:invoke");
  if (doc.type === "LOAD_BALANCER") return doc;
  const where = form === "host" ? `call it at /v2/${endpoint}/run` : "it takes no WebSockets";
  throw problem("rule-broken", `not allowed for QB API: this endpoint has a queue; ${where}`, {
    word: "not allowed for QB API",
  });
}

/** The head for the worker. One with the caller's `Authorization` is another than one without. */
class WorkerHead extends SentHead {
  keepsAuthorization = false;
}

/** A connection that repeats its head has the same one for the worker each time: it holds the address, the key and all headers. */
function workerHead(address: Address, env: KeptEndpoint["env"], request: Request): WorkerHead {
  const keepsAuthorization = env[KEEPS_AUTHORIZATION] === "true";
  const before = request instanceof PlainRequest ? request.head.made : undefined;
  if (before instanceof WorkerHead && before.keepsAuthorization === keepsAuthorization) return before;
  const { rawHeaders, headers, socket, method } = request;
  const key = headers.authorization === undefined ? undefined : keyOf(headers.authorization);
  const sender = { ...wayOf(socket), key, keepsAuthorization, prefix: address.prefix };
  const made = new WorkerHead(method, withoutKey(address.target, key), requestHeaders(rawHeaders, sender));
  made.keepsAuthorization = keepsAuthorization;
  if (request instanceof PlainRequest) request.head.made = made;
  return made;
}

function affinityIn({ headers }: Request): string | undefined {
  const given = headers["x-runpod-worker-id"] || headers["x-millrace-worker-id"];
  return Array.isArray(given) ? given[0] : given;
}

class WorkerReceiver implements Receiver {
  readonly #slot: Slot;
  readonly limits = LIMITS;

  constructor(slot: Slot) {
    this.#slot = slot;
  }

  get called(): string {
    return `worker ${this.#slot.backend.worker}`;
  }

  get backend(): Backend {
    return this.#slot.backend;
  }

  get gone(): AbortSignal {
    return this.#slot.gone;
  }

  refused(why: string): void {
    this.#slot.refused(why);
  }
}
