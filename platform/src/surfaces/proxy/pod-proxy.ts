/** The proxy of Pods: forwards requests for a Pod's HTTP port to its program, if the caller may use it. */
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Problem } from "../../kernel/problem.ts";
import type { Pipeline } from "../http/pipeline.ts";
import { plainly } from "../http/plain-door.ts";
import { PlainRequest } from "../http/plain-exchange.ts";
import { problemStatuses } from "../http/problem-json.ts";
import type { Refused, Statuses } from "../http/refusal.ts";
import type { Answering, Reply, Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import type { Credentials, Surface } from "../http/surface.ts";
import { forward, type Passing, wasNotSent } from "./forward.ts";
import { requestHeaders } from "./headers.ts";
import type { PodAccess } from "./pod-access.ts";
import { type PodAddress, podAddressOf } from "./pod-address.ts";
import type { PodPorts } from "./pod-ports.ts";
import type { Limits, Reached, Receiver } from "./receiver.ts";
import { SentHead } from "./sent-head.ts";
import { isWebSocket } from "./tunnel.ts";
import { Upgrades } from "./upgrades.ts";
import { wayOf } from "./way.ts";

export interface PodProxyParts {
  pipeline: Pipeline;
  access: PodAccess;
  ports: PodPorts;
  /** Records that a port of the Pod is in use, until disposed. */
  used: (pod: string) => Disposable;
  clock: Clock;
  domain?: string | undefined;
}

/** Streams may be as long, and last as long, as both sides want. The program only has to begin its answer in time. */
const LIMITS: Limits = { bodyBytes: Number.POSITIVE_INFINITY, ms: 100_000, until: "begin" };

/** Clients know status 524 from the established proxy. */
const statuses: Statuses = { ...problemStatuses, "late-answer": 524 };

export class PodProxy implements Ahead {
  readonly #parts: PodProxyParts;
  readonly #upgrades: Upgrades;

  constructor(parts: PodProxyParts) {
    this.#parts = parts;
    this.#upgrades = new Upgrades(parts.clock);
  }

  find(asked: Credentials): Answering | undefined {
    const address = this.#addressOf(asked);
    if (!address) return undefined;
    if (address.link !== undefined) return (request, reply) => this.#open(address, request, reply);
    return plainly((request, reply) => this.#serve(address, request, reply, forward), "pod-ports");
  }

  mayUpgrade(request: Request): boolean {
    return isWebSocket(request) && this.#addressOf(request) !== undefined;
  }

  upgrade(request: Request, socket: Duplex, head: Buffer): void {
    const address = this.#addressOf(request)!;
    this.#upgrades.take(request, socket, head, (reply, pass) => this.#serve(address, request, reply, pass));
  }

  close(): void {
    this.#upgrades.close();
  }

  #addressOf({ url, headers }: Credentials): PodAddress | undefined {
    return podAddressOf(url, headers.host, this.#parts.domain);
  }

  #serve(
    address: PodAddress,
    request: Request,
    reply: Reply,
    pass: (passing: Passing) => Promise<void>,
  ): Promise<Reply> {
    const { pipeline, access, used, clock } = this.#parts;
    const surface = surfaceOf(() => access.callerAt(address, request));
    return pipeline.answer(surface, request, reply, async (caller) => {
      using _ = used(address.pod);
      const passing = { sent: sentHead(address, request), form: address.form, request, response: reply.raw, clock };
      await this.#reach(caller, address, (receiver) => pass({ ...passing, receiver, own: reply.headers }));
      return reply;
    });
  }

  /**
   * A Pod that was restarted since it was looked up may be on another machine. Its old place got nothing of the request, so it is sent once
   * more.
   */
  async #reach(caller: Caller, { pod, port }: PodAddress, send: (receiver: Receiver) => Promise<void>): Promise<void> {
    const { ports } = this.#parts;
    const backend = await ports.backendOf(caller, pod, port);
    try {
      await send(receiverOf(pod, port, backend));
    } catch (error) {
      if (!wasNotSent(error)) throw error;
      ports.forget(pod);
      const now = await ports.backendOf(caller, pod, port);
      if (now === backend) throw error;
      await send(receiverOf(pod, port, now));
    }
  }

  /** Only a GET opens a link; looking at it with another method does not. */
  #open(address: PodAddress, request: Request, reply: Reply): Promise<Reply> {
    const { pipeline, access } = this.#parts;
    let cookie = "";
    const surface = surfaceOf(async () => {
      if (request.method !== "GET") return access.callerAt(address, request);
      const opened = await access.open(address);
      cookie = opened.cookie;
      return opened.caller;
    });
    return pipeline.answer(surface, request, reply, async () => {
      if (cookie !== "") reply.header("Set-Cookie", cookie);
      reply.header("Location", "/").header("Cache-Control", "no-store").header("Referrer-Policy", "no-referrer");
      return reply.code(303).send();
    });
  }
}

const never = new WeakMap<Reached, AbortSignal>();

/** The signal never aborts: a program that ends breaks its connections by itself. */
function receiverOf(pod: string, port: number, backend: Reached): Receiver {
  const gone = never.get(backend) ?? new AbortController().signal;
  never.set(backend, gone);
  return { called: `port ${port} of Pod ${pod}`, backend, gone, limits: LIMITS };
}

/** A connection that repeats its head has the same one for the program each time. */
function sentHead(address: PodAddress, request: Request): SentHead {
  if (!(request instanceof PlainRequest)) return newHead(address, request);
  const { head } = request;
  if (head.made instanceof SentHead) return head.made;
  const made = newHead(address, request);
  head.made = made;
  return made;
}

function newHead({ target, prefix }: PodAddress, { method, rawHeaders, socket }: Request): SentHead {
  const sender = { ...wayOf(socket), key: "", keepsAuthorization: true, prefix };
  return new SentHead(method, target, requestHeaders(rawHeaders, sender));
}

function surfaceOf(authenticate: Surface["authenticate"]): Surface {
  return { name: "pod ports", authenticate, limited: false, strictMediaType: false, refusal, logged: false };
}

function refusal({ code, detail, errors }: Problem): Refused {
  const status = statuses[code];
  const title = STATUS_CODES[status] ?? "A Timeout Occurred";
  return { status, contentType: "application/problem+json", body: JSON.stringify({ title, status, detail, errors }) };
}
