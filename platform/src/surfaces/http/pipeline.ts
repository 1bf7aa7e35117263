/** The pipeline of every request, the same for each surface: identify, authenticate, limit, read, validate, handle, render. */
import type { Auditing } from "../../guards/deeds.ts";
import { type Answered, type Handler, type Input, perform, ValidBody } from "../../guards/perform.ts";
import type { RateLimiter } from "../../guards/rate-limit.ts";
import type { BodyMemory } from "../../kernel/body-memory.ts";
import type { IncomingBytes, OutgoingBytes, OutgoingText } from "../../kernel/bytes.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { EventBlock } from "../../kernel/event-block.ts";
import { requestId } from "../../kernel/ids.ts";
import { parseJson } from "../../kernel/json.ts";
import { JsonText } from "../../kernel/json-text.ts";
import type { Log } from "../../kernel/log.ts";
import { DEFAULT_BODY_LIMIT, type Following, type Method, type Operation } from "../../kernel/operation.ts";
import { isOutOfDescriptors, isProblem, outOfDescriptors, type Problem, problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import type { CountedResponse } from "../../kernel/request-counts.ts";
import type { TracedRequest, Tracing } from "../../kernel/tracing.ts";
import { hasBody, readBody, refuseTooLarge } from "./body.ts";
import { incomingBytes, sendBytes, sendText } from "./bytes.ts";
import { clientAddress } from "./client-address.ts";
import type { Doorkeeper } from "./doorkeeper.ts";
import { EventStream } from "./events.ts";
import { readQuery } from "./query.ts";
import { sendRefusal } from "./refusal.ts";
import type { Params, Reply, Request } from "./reply.ts";
import { RequestMemory } from "./request-memory.ts";
import type { RoutedMethod, Router } from "./router.ts";
import type { Surface } from "./surface.ts";

/** Parsing a longer body here would hold up all other requests, so a thread does it. */
const LONG_BODY = 1024 * 1024;
const METHODS: readonly Method[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/** These methods are refused where a path does not have them. HEAD follows GET by itself. */
const REFUSED_METHODS: readonly RoutedMethod[] = [...METHODS, "OPTIONS"];

interface PipelineParts {
  limiter: RateLimiter;
  audit: Auditing["audit"];
  doorkeeper: Doorkeeper;
  memory: BodyMemory;
  /** Reads long bodies on a thread of its own. */
  large: { body(bytes: Uint8Array, schema: object, whose: string): Promise<unknown> };
  clock: Clock;
  random: Random;
  log: Log;
  /** Records the traces of requests. Without it, none are recorded. */
  tracing?: Tracing | undefined;
}

interface Sender {
  request: Request;
  reply: Reply;
  /** The account that the request is sent for. */
  whose: string;
  memory: RequestMemory;
}

export class Pipeline {
  readonly #limiter: RateLimiter;
  readonly #audit: Auditing["audit"];
  readonly #doorkeeper: Doorkeeper;
  readonly #memory: BodyMemory;
  readonly #large: PipelineParts["large"];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #tracing: Tracing | undefined;
  /** The open event streams. Each goes on as long as its client listens. */
  readonly #streams = new Set<AbortController>();
  #isClosing = false;

  constructor(parts: PipelineParts) {
    this.#large = parts.large;
    this.#limiter = parts.limiter;
    this.#audit = parts.audit;
    this.#doorkeeper = parts.doorkeeper;
    this.#memory = parts.memory;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#log = parts.log;
    this.#tracing = parts.tracing;
  }

  /** Ends every event stream. The clients reconnect to the next server. */
  endStreams(): void {
    this.#isClosing = true;
    for (const stream of this.#streams) stream.abort();
  }

  /** Mounts operations, and a 405 for every other method of their paths, which `others` answers. */
  mount(
    router: Router,
    surface: Surface,
    { operations, handlers }: Pick<Answered, "operations" | "handlers">,
    others: Surface = surface,
  ): void {
    for (const [name, operation] of Object.entries(operations)) {
      const handler = handlers[name]!;
      router.add([operation.method], operation.path, (request, reply, params) =>
        this.#serve(surface, { name, operation, handler }, request, reply, params),
      );
    }
    const mounted = Object.values(operations).map(({ path, method }) => ({ path, methods: [method] }));
    this.refuseOthers(router, others, mounted);
  }

  /** Refuses methods that a path does not have, in the form of its surface, but only to callers who may know the path. */
  refuseOthers(router: Router, surface: Surface, mounted: readonly PathAndMethods[]): void {
    for (const [path, group] of Map.groupBy(mounted, ({ path }) => path)) {
      const methods = group.flatMap((one) => one.methods);
      const others = REFUSED_METHODS.filter((method) => !methods.includes(method as Method));
      router.addRefusal(path, (request, reply) => this.refuse(surface, notAllowed(methods), request, reply), others);
    }
  }

  /** What the audit log is told about a request for an operation. */
  auditing(name: string, request: Request): Auditing {
    const { "user-agent": userAgent } = request.headers;
    return { audit: this.#audit, name, address: clientAddress(request), userAgent };
  }

  async #serve(
    surface: Surface,
    { name, operation, handler }: { name: string; operation: Operation; handler: Handler },
    request: Request,
    reply: Reply,
    params: Params,
  ): Promise<Reply> {
    return this.answer(surface, request, reply, async (caller, memory) => {
      const sender = { request, reply, whose: caller.account, memory };
      const input: Input = {
        params,
        query: () => readQuery(operation.query, searchOf(request)),
        body: () => this.#body(surface, operation, sender),
        ...(operation.isOfBrowser && surface.browser && { browser: surface.browser(request, reply) }),
      };
      const auditing = this.auditing(name, request);
      if (operation.events)
        return this.#follow(request, reply, (following) =>
          perform(operation, handler, caller, { ...input, following }, auditing),
        );
      if (operation.bytes === "in") input.incoming = () => this.#incoming(operation, sender);
      const result = await perform(operation, handler, caller, input, auditing);
      if (operation.bytes === "out") return sendBytes(request, reply, result as OutgoingBytes);
      if (operation.texts) return sendText(request, reply, result as OutgoingText);
      reply.code((result === undefined && operation.emptyStatus) || operation.status);
      return result;
    });
  }

  #incoming({ bodyLimit: limit = DEFAULT_BODY_LIMIT }: Operation, { request, reply }: Sender): IncomingBytes {
    return incomingBytes(request, reply.raw, { limit, clock: this.#clock });
  }

  async #follow(
    { headers, method }: Request,
    { raw }: Reply,
    begin: (following: Following) => Promise<unknown>,
  ): Promise<EventStream> {
    const stream = new AbortController();
    const gone = stream.signal;
    this.#streams.add(stream);
    gone.addEventListener("abort", () => this.#streams.delete(stream), { once: true });
    raw.once("close", () => stream.abort());
    if (raw.destroyed || this.#isClosing) stream.abort();
    const lastEventId = headers["last-event-id"]?.toString() || undefined;
    const events = (await begin({ lastEventId, gone })) as AsyncIterable<EventBlock>;
    return new EventStream(events, { gone, clock: this.#clock, isHead: method === "HEAD" });
  }

  /** Refuses a request that fits no operation, after authenticating it: strangers learn nothing about the paths. */
  async refuse(surface: Surface, refusal: Problem, request: Request, reply: Reply): Promise<Reply> {
    return this.answer(surface, request, reply, () => Promise.reject(refusal));
  }

  /** For surfaces that read bodies without a schema. All other steps happen in the same order. */
  async answer(
    surface: Surface,
    request: Request,
    reply: Reply,
    work: (caller: Caller, memory: RequestMemory) => Promise<unknown>,
  ): Promise<Reply> {
    // Surfaces with very many requests are logged only while somebody looks for a fault.
    const isLogged = surface.logged || this.#log.isLevelEnabled?.("debug") === true;
    const startedMs = isLogged ? this.#clock.monotonic() : 0;
    const id = requestId(this.#random);
    reply.header("X-Request-Id", id);
    const traced = this.#tracing?.begin(request.headers.traceparent);
    if (traced) reply.traceparent = traced.traceparent;
    if (surface.headers) Object.assign(reply.headers, surface.headers(request));
    if (surface.crossOrigin) Object.assign(reply.headers, surface.crossOrigin(request.headers.origin));
    let caller: Caller | undefined;
    let memory: RequestMemory | undefined;
    try {
      const recognised = surface.authenticate(request);
      caller = recognised instanceof Promise ? await recognised : recognised;
      this.#doorkeeper.admit(request.socket, caller.account);
      if (surface.limited) Object.assign(reply.headers, await this.#limiter.count(caller));
      memory = new RequestMemory(this.#memory, caller.account, reply.raw);
      const result = await work(caller, memory);
      return result instanceof EventStream ? await result.send(reply) : render(reply, result);
    } catch (error) {
      const refusal = this.#asProblem(error, id);
      if (reply.raw.headersSent) return cutOff(reply);
      return sendRefusal(reply, refusal, surface.refusal(refusal));
    } finally {
      memory?.[Symbol.dispose]();
      if (traced) endSpan(traced, request, reply, { id, caller });
      if (isLogged) {
        const write: Log["info"] = (fields, text) =>
          surface.logged ? this.#log.info(fields, text) : this.#log.debug?.(fields, text);
        this.#logRequest(write, request, reply, { id, caller, ms: this.#clock.monotonic() - startedMs });
      }
    }
  }

  /** Checks the length before reading, then the media type, then reads the bytes. */
  async #body(surface: Surface, operation: Operation, { request, reply, whose, memory }: Sender): Promise<unknown> {
    const limit = operation.bodyLimit ?? DEFAULT_BODY_LIMIT;
    refuseTooLarge(request, limit);
    if (surface.strictMediaType && hasBody(request)) requireJson(request);
    const bytes = await readBody(request, reply.raw, { limit, clock: this.#clock, memory });
    if (bytes.length === 0 && operation.isBodyOptional) return {};
    if (bytes.length === 0) throw problem("unreadable", "The request body is empty; a JSON object is required.");
    return bytes.length > LONG_BODY
      ? new ValidBody(await this.#large.body(bytes, operation.in!, whose))
      : parseJson(bytes);
  }

  /** An unforeseen error becomes a 500 that names the id of its log line and nothing else. */
  #asProblem(error: unknown, id: string): Problem {
    if (isProblem(error)) return error;
    if (isOutOfDescriptors(error)) return outOfDescriptors(error);
    this.#log.error({ requestId: id, err: error }, "unforeseen fault");
    return problem("fault", `An unexpected error occurred. It is in the server's log under the id ${id}.`, {
      cause: error,
    });
  }

  /** Logs the fault of one part of an answer, whose other parts are still sent. Returns the id of the log line. */
  noteFault(error: unknown): string {
    const id = requestId(this.#random);
    this.#log.error({ requestId: id, err: error }, "unforeseen fault");
    return id;
  }

  #logRequest(
    write: Log["info"],
    request: Request,
    reply: Reply,
    { id, caller, ms }: { id: string; caller: Caller | undefined; ms: number },
  ) {
    // The log gets the path without its query, which may carry a key (`?api_key=`), and never a header or a body.
    const path = request.url.split("?", 1)[0]!;
    const who = caller && !caller.anonymous && { account: caller.account, key: caller.key };
    const about = idsOf((reply.raw as CountedResponse).counts?.route, path, reply);
    const asked = { requestId: id, method: request.method, path: clip(path, LONGEST_LOGGED) };
    write({ ...asked, status: reply.status, ms: Math.round(ms), ...about, ...who }, "request");
  }
}

/** A path may have 32 KB, and 64 in JSON. Journald would cut the line in two, and neither half would be JSON. */
const LONGEST_LOGGED = 500;

/** What the parameters of a path are called in the log, by the path in front of them if that says what they are. */
const LOGGED_AS: Readonly<Record<string, string>> = {
  "{endpoint_id}": "endpoint",
  "{job_id}": "job",
  "/v2/serverless/{id}": "endpoint",
  "/v2/pods/{id}": "pod",
};

/** The ids of a request, so that the lines about one job or endpoint can be found. */
function idsOf(route: string | undefined, path: string, { headers }: Reply): Record<string, string> {
  const ids: Record<string, string> = {};
  const parts = path.split("/");
  for (const [place, part] of (route ?? "").split("/").entries()) {
    const name = LOGGED_AS[part] ?? (place === 3 ? LOGGED_AS[route!.split("/").slice(0, 4).join("/")] : undefined);
    if (name !== undefined && part.startsWith("{") && parts[place]) ids[name] = parts[place];
  }
  const made = headers["X-Job-Id"];
  return typeof made === "string" ? { ...ids, job: made } : ids;
}

/** An answer that was begun early has its status in the response alone. */
function endSpan(
  traced: TracedRequest,
  { method }: Request,
  { raw, status: set }: Reply,
  { id, caller }: { id: string; caller: Caller | undefined },
): void {
  const route = (raw as CountedResponse).counts?.route ?? "";
  const status = raw.headersSent ? raw.statusCode : set;
  traced.end({
    name: `${method} ${route}`,
    attributes: {
      "http.request.method": method,
      "http.route": route,
      "http.response.status_code": status,
      "millrace.request.id": id,
      "millrace.account.id": caller && !caller.anonymous ? caller.account : undefined,
    },
    error: status >= 500 ? `status ${status}` : undefined,
  });
}

export const JSON_TYPE = "application/json; charset=utf-8";

/** A handler that has sent the answer itself returns the reply. */
function render(reply: Reply, result: unknown): Reply {
  if (result === undefined || result === reply) return result === reply ? reply : reply.send();
  return reply.type(JSON_TYPE).send(result instanceof JsonText ? result.text : JSON.stringify(result));
}

/** An answer that has begun cannot become a refusal. Breaking the connection tells the client that the answer is incomplete. */
function cutOff(reply: Reply): Reply {
  reply.raw.destroy();
  return reply;
}

export function searchOf(request: Pick<Request, "url">): URLSearchParams {
  const mark = request.url.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : request.url.slice(mark + 1));
}

interface PathAndMethods {
  path: string;
  methods: readonly Method[];
}

function notAllowed(methods: readonly Method[]): Problem {
  const allow = METHODS.filter((method) => methods.includes(method)).join(", ");
  return problem("wrong-method", "The requested method is not allowed for this path.", {
    headers: { Allow: allow },
  });
}

export function requireJson(request: Request): void {
  const type = request.headers["content-type"];
  if (!/^application\/([\w.-]+\+)?json *(;|$)/i.test(type ?? "")) {
    throw problem(
      "wrong-media-type",
      `The body must be sent as application/json, not ${type ? `'${clip(type)}'` : "without a type"}.`,
    );
  }
  const encoding = request.headers["content-encoding"];
  if (encoding && encoding !== "identity") {
    throw problem(
      "wrong-media-type",
      `The content encoding '${clip(encoding)}' is not supported; send the body without it.`,
    );
  }
}

const clip = (text: string, most = 60) => (text.length > most ? `${text.slice(0, most)}…` : text);
