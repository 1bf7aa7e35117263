/** The HTTP server: one router, with limits on headers, idle time and shutdown. It leaves bodies to the surfaces. */
import { once } from "node:events";
import { createServer as createHttpServer, type Server, type ServerOptions, type ServerResponse } from "node:http";
import type { AddressInfo, Server as NetServer, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Clock, lately, realClock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { type Problem, problem } from "../../kernel/problem.ts";
import type { CountedResponse, RequestCounts, RouteCounts } from "../../kernel/request-counts.ts";
import { ambiguityOf } from "./ambiguous.ts";
import { mayTakeLong, waitsForContinue } from "./body.ts";
import { Proxies } from "./client-address.ts";
import type { Doorkeeper } from "./doorkeeper.ts";
import { endSoon } from "./last-words.ts";
import { Lingering } from "./linger.ts";
import { PlainDoor } from "./plain-door.ts";
import { PlainRequest } from "./plain-exchange.ts";
import type { PlainHead } from "./plain-head.ts";
import { problemJson } from "./problem-json.ts";
import { sendRefusal } from "./refusal.ts";
import { refusalText } from "./refusal-text.ts";
import { type Answering, type Params, Reply, type Request } from "./reply.ts";
import type { Found, Router } from "./router.ts";
import { asSecure, type Certificate, createSecureServer } from "./secure-server.ts";
import type { Credentials } from "./surface.ts";

const HEADERS_TIMEOUT_MS = 15_000;
/** A whole request must arrive within this time. Sending 97 MiB takes 10 minutes only on a very slow line. */
const REQUEST_TIMEOUT_MS = 600_000;
/** How Node says that one did not. */
const REQUEST_TIMEOUT = "ERR_HTTP_REQUEST_TIMEOUT";
const KEEP_ALIVE_MS = 72_000;
/** A client that is too slow is noticed at most this late. */
const CHECK_MS = 15_000;
const MAX_HEADER_BYTES = 32 * 1024;
const SHUTDOWN_GRACE_MS = 5000;

export interface ServerParts {
  clock: Clock;
  doorkeeper: Doorkeeper;
  router: Router;
  requests: RequestCounts;
  /** Answers a request whose endpoint or Pod could not be looked up. The answer must not say that it does not exist. */
  unknown(why: unknown): Answering;
  log: Log;
  ahead?: Ahead;
  /** The proxies whose word about a client is believed. */
  proxies?: Proxies;
  /** With it, the server speaks TLS. */
  certificate?: Certificate | undefined;
}

/** A proxy on this machine needs no setting. */
const NEAR_PROXIES = ["127.0.0.0/8", "::1/128"] as const;
const nearProxies = new Proxies(NEAR_PROXIES);

/** A part that looks at a request before the routes do. */
export interface Ahead {
  /** Returns what answers the request, or undefined to leave it to the routes. It returns a promise if it has to read the store. */
  find(request: Credentials): Answering | undefined | Promise<Answering | undefined>;
  /** Whether to take the request off HTTP and hand its connection to `upgrade`. */
  mayUpgrade(request: Request): boolean;
  upgrade(request: Request, socket: Duplex, head: Buffer): void;
}

/** Combines two of them: the second sees what the first does not want. */
export const inTurn = (first: Ahead, second: Ahead): Ahead => ({
  find: (request) => first.find(request) ?? second.find(request),
  mayUpgrade: (request) => first.mayUpgrade(request) || second.mayUpgrade(request),
  upgrade: (request, socket, head) => (first.mayUpgrade(request) ? first : second).upgrade(request, socket, head),
});

export class HttpServer {
  readonly server: Server;
  readonly router: Router;

  constructor(parts: ServerParts) {
    this.server = openServer(parts);
    this.router = parts.router;
  }

  /** Resolves with the server's URL. */
  async listen({ port, host }: { port: number; host: string }): Promise<string> {
    this.server.listen(port, host);
    await once(this.server, "listening");
    const { port: given } = this.server.address() as AddressInfo;
    const scheme = asSecure(this.server) ? "https" : "http";
    return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${given}`;
  }

  /** New connections get this certificate. Open ones keep theirs. */
  present(certificate: Certificate): void {
    asSecure(this.server)?.setSecureContext(certificate);
  }

  /** Resolves when every connection has ended. Idle ones are ended at once. A server that does not listen is already closed. */
  close(): Promise<void> {
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

function openServer(parts: ServerParts): Server {
  const { router, ahead, unknown, doorkeeper, requests, clock, log, proxies = nearProxies, certificate } = parts;
  const options: ServerOptions = {
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    // `refusalAtOnce` checks the Host header instead, and says what is wrong.
    requireHostHeader: false,
    // One that cannot have its connection is answered as the plain request that it also is, in its turn.
    shouldUpgradeCallback: (request) =>
      server.listening &&
      !doorkeeper.isAsked(request.socket) &&
      !refusalAtOnce(request as Request) &&
      ahead?.mayUpgrade(request as Request) === true,
  };
  const server: Server = certificate ? createSecureServer(options, certificate) : createHttpServer(options);
  const answered = guarded(log);
  /** What was found for a request before its connection went to Node. */
  const foundBefore = new WeakMap<Socket, Answering>();
  const viaRouter = (request: Request, response: ServerResponse) => {
    const { answer, params, path } = router.find(request.method, request.url);
    countAs(response, requests.of(path));
    answered(answer, request, response, params);
  };
  const viaAhead = (answer: Answering, request: Request, response: ServerResponse) => {
    countAs(response, requests.of(answer.countedAs ?? AHEAD));
    answered(answer, request, response, {});
  };
  const answer = (request: Request, response: ServerResponse) => {
    // A plain request has none of the faults for which others are refused, and was looked up before.
    const plain = request instanceof PlainRequest ? request.route : undefined;
    const refusal = plain ? undefined : refusalAtOnce(request);
    if (refusal) return refuse(response, refusal);
    // Open connections may still bring requests while the server is closing.
    if (!server.listening) return refuse(response, closing());
    if (plain) {
      countAs(response, plain instanceof PlainRoute ? plain.counts : requests.of(plain.answer.countedAs ?? AHEAD));
      return answered(plain.answer, request, response, plain.params);
    }
    const before = foundBefore.get(request.socket);
    if (before) foundBefore.delete(request.socket);
    const found = before ?? ahead?.find(request);
    if (found === undefined) return viaRouter(request, response);
    if (!(found instanceof Promise)) return viaAhead(found, request, response);
    const go = (answer?: Answering) => (answer ? viaAhead(answer, request, response) : viaRouter(request, response));
    found.then(go, (why) => go(unknown(why)));
  };
  const plainDoor = {
    routeOf(head: PlainHead) {
      if (head.made instanceof PlainRoute) return head.made;
      const found = router.find(head.method, head.url);
      if (!found.answer.isPlain) return undefined;
      const route = new PlainRoute(found, requests.of(found.path));
      head.made = route;
      return route;
    },
    ahead(request: PlainRequest) {
      const found = ahead?.find(request);
      return found instanceof Promise ? found.catch((why) => unknown(why)) : found;
    },
    leaves: ({ socket }: PlainRequest, found: Answering) => foundBefore.set(socket, found),
    idleMs: KEEP_ALIVE_MS,
    checkMs: CHECK_MS,
    clock: realClock,
    failed: (error: unknown) => log.error({ err: error }, "idle connections could not be closed"),
  };
  // A connection that is encrypted goes through Node's own server from the beginning.
  if (!certificate) new PlainDoor(server, plainDoor);
  // Connections that have not greeted yet are not the doorkeeper's. They are bounded here.
  else server.maxConnections = doorkeeper.connections.most * 2;
  proxies.watch(server);
  const lingering = new Lingering(clock);
  lingering.watch(server);
  doorkeeper.watch(server);
  survive(server, log);
  const closed = afterEachAnswer(server, { requests, doorkeeper, lingering, clock });
  server.on("request", (request: Request, response: ServerResponse) => {
    // A write after the end of an answer raises this error. It concerns only that answer, so it is ignored.
    response.on("error", ignored);
    response.on("close", closed);
    (response as Counted).beganMs = lately(clock);
    lingering.came(request);
    doorkeeper.came(request, response, answer);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const asking = error.code === REQUEST_TIMEOUT ? doorkeeper.inProgress(socket as Socket) : undefined;
    // Node says so once for each request.
    if (asking && mayTakeLong.has(asking)) return;
    // Nobody is left to hear a refusal.
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
    else doorkeeper.broken(socket as Socket, () => answerBrokenRequest(error, socket as Socket, clock));
  });
  server.on("upgrade", (request: Request, socket: Duplex, head: Buffer) => {
    doorkeeper.becomes(socket as Socket);
    ahead?.upgrade(request, socket, head);
  });
  server.on("checkContinue", (request: Request, response: ServerResponse) => {
    waitsForContinue.add(request);
    server.emit("request", request, response);
  });
  server.on("checkExpectation", (request: Request, response: ServerResponse) => {
    expectsTooMuch.add(request);
    server.emit("request", request, response);
  });
  return server;
}

/** The route of a head, which is not looked up again while a connection repeats it. */
class PlainRoute implements Found {
  readonly answer: Answering;
  readonly params: Params;
  readonly path: string;
  readonly counts: RouteCounts;

  constructor({ answer, params, path }: Found, counts: RouteCounts) {
    this.answer = answer;
    this.params = params;
    this.path = path;
    this.counts = counts;
  }
}

type Counted = ServerResponse & CountedResponse;

const countAs = (response: Counted, counts: RouteCounts) => {
  response.counts = counts;
};

/** What requests are counted as that were answered ahead of the routes, or before it was known by what. */
const AHEAD = "other";
const AT_ONCE = "refused";

const expectsTooMuch = new WeakSet<Request>();

/** Requests that must go no further, and requests that Node would refuse without saying why. */
function refusalAtOnce(request: Request): Problem | undefined {
  const { host, expect } = request.headers;
  if (host === undefined && request.httpVersion === "1.1")
    return problem("unreadable", "The request has no Host header, which HTTP/1.1 requires.");
  if (expect !== undefined && expectsTooMuch.has(request))
    return problem("unmet-expectation", "'Expect' may be 100-continue, and nothing else can be expected.");
  return ambiguityOf(request);
}

const closing = () =>
  problem("unavailable", "The server is closing; send the request again.", { reason: "server-ending" });

/** Refuses a request before it is known which surface it is for. */
function refuse(response: ServerResponse, refusal: Problem): void {
  sendRefusal(new Reply(response).header("Connection", "close"), refusal, problemJson(refusal));
}

const ignored = () => {};

type Answered = (answer: Answering, request: Request, response: ServerResponse, params: Params) => void;

/** An unforeseen failure while answering ends that request and no other. */
function guarded(log: Log): Answered {
  const cutOff = (error: unknown, request: Request, response: ServerResponse) => {
    log.error({ err: error, path: request.url.split("?", 1)[0] }, "a request could not be answered, and was cut off");
    response.destroy();
  };
  // This is no async function, which would cost every request one more promise and two more turns.
  return (answer, request, response, params) => {
    try {
      const answering = answer(request, new Reply(response), params);
      if (answering instanceof Promise) answering.catch((error) => cutOff(error, request, response));
    } catch (error) {
      cutOff(error, request, response);
    }
  };
}

/** A connection that could not be accepted for lack of a free descriptor is lost, but the server goes on. */
export function survive(server: NetServer, log: Log): void {
  server.once("listening", () =>
    server.on("error", (error) => log.error({ err: error }, "a connection could not be accepted")),
  );
}

/**
 * Runs after each answer. The rest of a refused body may still arrive, and is discarded. While the server is closing, Node closes the
 * connections that are idle at the start, and this closes those that become idle later. All answers share one function, since making one
 * per answer would cost too much.
 */
function afterEachAnswer(
  server: Server,
  {
    requests,
    doorkeeper,
    lingering,
    clock,
  }: Pick<ServerParts, "requests" | "doorkeeper" | "clock"> & {
    lingering: Lingering;
  },
) {
  const atOnce = requests.of(AT_ONCE);
  const closeIdle = () => {
    if (!server.listening) server.closeIdleConnections();
  };
  return function closed(this: Counted): void {
    const { req, counts = atOnce, beganMs = 0 } = this;
    counts.note(req.method!, this.headersSent ? this.statusCode : 0, clock.monotonic() - beganMs);
    doorkeeper.answered(req);
    if (req.complete) closeIdle();
    else {
      req.once("close", closeIdle);
      lingering.discard(req);
    }
  };
}

/** Lets requests in progress finish, for a limited time. */
export async function closeServer(http: HttpServer, clock: Clock): Promise<void> {
  const cut = clock.after(SHUTDOWN_GRACE_MS, () => http.server.closeAllConnections());
  await http.close();
  cut.cancel();
}

/** Bytes that are not HTTP make no request, so the answer is written to the socket. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket, clock: Clock): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  endSoon(socket, clock, refusalText(brokenRequest(error)));
}

function brokenRequest(error: NodeJS.ErrnoException) {
  if (error.code === "HPE_HEADER_OVERFLOW") {
    return problem("long-headers", `The request headers are larger than ${MAX_HEADER_BYTES} bytes.`);
  }
  if (error.code === REQUEST_TIMEOUT) return problem("too-slow", "The request did not arrive in time.");
  return problem("unreadable", "The request is not valid HTTP.");
}
