/** The proxy: requests for a load-balancing endpoint pass the guards and the balancer and go to a worker. */
import type { Duplex } from "node:stream";
import { type Affinity, parseAffinity } from "../../balancing/affinity.ts";
import type { Backend } from "../../balancing/balanced-group.ts";
import type { Balancer } from "../../balancing/balancer.ts";
import type { Slot } from "../../balancing/slot.ts";
import type { GuestDoor } from "../../guards/guest-door.ts";
import { requireScope } from "../../guards/scopes.ts";
import type { Caller } from "../../kernel/caller.ts";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import type { Reason } from "../../kernel/reason.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { EndpointType, KeptEndpoint } from "../../resources/endpoints/model.ts";
import type { EndpointItem, EndpointService } from "../../resources/endpoints/service.ts";
import type { Called, Guest, PublicEndpointService } from "../../resources/public-endpoints/service.ts";
import { refuseTooLarge } from "../http/body.ts";
import { ClientGone } from "../http/gone.ts";
import type { Pipeline } from "../http/pipeline.ts";
import { plainly } from "../http/plain-door.ts";
import { PlainRequest } from "../http/plain-exchange.ts";
import type { Answering, Reply, Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import type { Credentials, Surface } from "../http/surface.ts";
import { keyOf } from "../invoke/surface.ts";
import { type Address, addressOf, namedAddressOf } from "./address.ts";
import { forward, isNodeAway, type Passing, wasNotSent } from "./forward.ts";
import { GuestVisit } from "./guest-visit.ts";
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
  publicEndpoints: PublicEndpointService;
  guestDoor: GuestDoor;
  queue: Pick<Queue, "charge">;
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
  /** What holds for a caller of another account. */
  guest?: Guest | undefined;
}

export class EndpointProxy implements Ahead {
  readonly #parts: ProxyParts;
  readonly #upgrades: Upgrades;
  /** A caller stays the same object for as long as it is cached. */
  readonly #surfaces = new WeakMap<Caller, Surface>();

  constructor(parts: ProxyParts) {
    this.#parts = parts;
    this.#upgrades = new Upgrades(parts.clock);
  }

  find(request: Credentials): Answering | undefined | Promise<Answering | undefined> {
    const address = this.#addressOf(request);
    if (!address) return this.#findNamed(request);
    if (address.form === "host") return this.#answering(address);
    const type = this.#parts.endpoints.typeOf(address.endpoint);
    if (type instanceof Promise) return type.then((type) => this.#ifBalanced(type, address, request));
    return this.#ifBalanced(type, address, request);
  }

  /** A name leads here only if its endpoint is load-balanced. The routes answer for those with a queue. */
  #findNamed(request: Credentials): Answering | undefined | Promise<Answering | undefined> {
    const address = namedAddressOf(request.url);
    const isBalanced = address && this.#parts.publicEndpoints.isBalanced(address.endpoint);
    if (!isBalanced) return undefined;
    if (isBalanced === true) return this.#ifBalanced("LOAD_BALANCER", address, request);
    return isBalanced.then((is) => (is ? this.#ifBalanced("LOAD_BALANCER", address, request) : undefined));
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
    const { surface, publicEndpoints } = this.#parts;
    try {
      const caller = surface.authenticate(request);
      if (caller instanceof Promise)
        return caller.then((caller) => calledBy(caller, publicEndpoints.called(caller, endpoint))).catch(knownDespite);
      const known = calledBy(caller, publicEndpoints.called(caller, endpoint));
      return known instanceof Promise ? known.catch(knownDespite) : known;
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
    { caller, item, guest }: Known = {},
  ): Promise<Reply> {
    const { pipeline } = this.#parts;
    return pipeline.answer(caller ? this.#recognising(caller) : this.#parts.surface, request, reply, (caller) =>
      this.#pass({ caller, item, guest, address, request, reply, pass }),
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
    const { caller, item, guest, address } = admission;
    if (item) return guest ? this.#sendForGuest(admission, item, guest) : this.#send(admission, item);
    const found = Promise.resolve(calledBy(caller, this.#parts.publicEndpoints.called(caller, address.endpoint)));
    return found.then((known) => this.#pass({ ...admission, ...known }));
  }

  /** A guest pays for its request, and learns nothing about the worker. */
  async #sendForGuest(admission: Admission, item: EndpointItem, guest: Guest): Promise<Reply> {
    const { guestDoor, queue, clock } = this.#parts;
    requireScope(admission.caller, "serverless:invoke");
    refuseTooLarge(admission.request, LIMITS.bodyBytes);
    const leave = await guestDoor.enter(admission.caller, guest);
    const visit = new GuestVisit({ queue, clock, account: admission.caller.account, endpoint: item.id, guest });
    try {
      return await this.#send(admission, item, visit);
    } catch (error) {
      const { headersSent, statusCode } = admission.reply.raw;
      throw await visit.failed(error, headersSent ? statusCode : undefined);
    } finally {
      leave();
    }
  }

  #send({ caller, address, request, reply, pass }: Admission, item: EndpointItem, visit?: GuestVisit): Promise<Reply> {
    const { clock } = this.#parts;
    const { scaling, env } = admitted(caller, address, item.doc);
    refuseTooLarge(request, LIMITS.bodyBytes);
    const seeking: Seeking = {
      endpoint: item.id,
      perWorker: scaling.type === "REQUEST_COUNT" ? scaling.requestCount : 1,
      affinity: visit ? undefined : parseAffinity(affinityIn(request)),
      guest: visit && caller.account,
      since: clock.monotonic(),
      reply,
      isCounted: pass === forward,
    };
    const sent = workerHead(address, env, request, visit !== undefined);
    const beforeEnd = visit && ((status: number) => visit.answered(status));
    return this.#untilAccepted(seeking, (slot) => {
      if (visit) visit.begin();
      else for (const name of WORKER_HEADERS) reply.header(name, slot.backend.worker);
      const receiver = new WorkerReceiver(slot);
      const answer = { form: address.form, response: reply.raw, own: reply.headers, beforeEnd };
      return pass({ receiver, sent, request, clock, ...answer });
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

  #slotNow({ endpoint, perWorker, affinity, guest }: Seeking): Slot | undefined {
    return this.#parts.balancer.take(endpoint, perWorker, affinity, guest);
  }

  #slotLater(seeking: Seeking): Promise<Slot> {
    const { balancer, whyNoWorker } = this.#parts;
    const { endpoint, perWorker, affinity, guest, since, reply } = seeking;
    const gone = new ClientGone(reply);
    const asking = { perWorker, affinity, guest, gone, since, ...(whyNoWorker && { why: whyNoWorker }) };
    return balancer.acquire(endpoint, asking).catch((error) => {
      throw this.#countedFailure(seeking, error);
    });
  }
}

/** A request that has reached its guards. */
interface Admission extends Required<Pick<Known, "caller">>, Pick<Known, "item" | "guest"> {
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
  guest: string | undefined;
  /** On the monotonic clock. The wait after a refusal counts as part of the same wait. */
  since: number;
  reply: Reply;
  /** A WebSocket may be open for days, so it is not counted with requests. */
  isCounted: boolean;
}

function calledBy(caller: Caller, called: EndpointItem | Promise<Called>): Known | Promise<Known> {
  if (called instanceof Promise) return called.then(({ item, guest }) => ({ caller, item, guest }));
  return { caller, item: called };
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
  isGuest = false;
}

/** A connection that repeats its head has the same one for the worker each time: it holds the address, the key and all headers. */
function workerHead(address: Address, env: KeptEndpoint["env"], request: Request, isGuest: boolean): WorkerHead {
  // The key of a guest is for Millrace alone, whatever the endpoint wants.
  const keepsAuthorization = !isGuest && env[KEEPS_AUTHORIZATION] === "true";
  const before = request instanceof PlainRequest ? request.head.made : undefined;
  const isSame = before instanceof WorkerHead && before.keepsAuthorization === keepsAuthorization;
  if (isSame && before.isGuest === isGuest) return before;
  const { rawHeaders, headers, socket, method } = request;
  const key = headers.authorization === undefined ? undefined : keyOf(headers.authorization);
  const sender = { ...wayOf(socket), key, keepsAuthorization, isGuest, prefix: address.prefix };
  const made = new WorkerHead(method, withoutKey(address.target, key), requestHeaders(rawHeaders, sender));
  made.keepsAuthorization = keepsAuthorization;
  made.isGuest = isGuest;
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
