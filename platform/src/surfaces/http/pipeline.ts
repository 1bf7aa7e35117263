/** The way of every request, the same for every surface: identify, authenticate, limit, read, validate, handle, render. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { RateLimiter } from "../../guards/rate-limit.ts";
import { requireScope } from "../../guards/scopes.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { requestId } from "../../kernel/ids.ts";
import { parseJson } from "../../kernel/json.ts";
import type { Log } from "../../kernel/log.ts";
import { type Call, DEFAULT_BODY_LIMIT, type Method, type Operation, type Operations } from "../../kernel/operation.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { assertValid } from "../../kernel/validate.ts";
import { announcedBody, discardRest, hasBody, readBody, refuseTooLarge } from "./body.ts";
import { readQuery } from "./query.ts";
import type { Surface } from "./surface.ts";

type Handler = (call: Call) => Promise<unknown>;
type Headers = Record<string, string>;

const METHODS: readonly Method[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/** HEAD follows GET by itself; OPTIONS is refused like any other method that a path does not have. */
const ROUTED_METHODS = [...METHODS, "OPTIONS"] as const;

export class Pipeline {
  readonly #limiter: RateLimiter;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;

  constructor(parts: { limiter: RateLimiter; clock: Clock; random: Random; log: Log }) {
    this.#limiter = parts.limiter;
    this.#clock = parts.clock;
    this.#random = parts.random;
    this.#log = parts.log;
  }

  /** Mounts operations together with a 405 for every other method of their paths. */
  mount(app: FastifyInstance, surface: Surface, operations: Operations, handlers: Record<string, Handler>): void {
    for (const [name, operation] of Object.entries(operations)) {
      const handler = handlers[name]!;
      app.route({
        method: operation.method,
        url: routePath(operation.path),
        handler: (request, reply) => this.serve(surface, operation, handler, request, reply),
      });
    }
    for (const [path, methods] of methodsByPath(operations)) {
      app.route({
        method: ROUTED_METHODS.filter((method) => !methods.includes(method as Method)),
        url: routePath(path),
        handler: (request, reply) => this.refuse(surface, notAllowed(methods), request, reply),
      });
    }
  }

  async serve(surface: Surface, operation: Operation, handler: Handler, request: FastifyRequest, reply: FastifyReply) {
    return this.answer(surface, request, reply, async (caller) => {
      requireScope(caller, operation.scope);
      const query = readQuery(operation.query, searchOf(request)) as Call["query"];
      const body = (await this.#body(surface, operation, request, reply)) as Call["body"];
      const result = await handler({ caller, params: request.params as Record<string, string>, query, body });
      reply.code(operation.status);
      return result;
    });
  }

  /** Refuses a request that fits no operation, but only after finding out who asks: strangers learn nothing of the paths. */
  async refuse(surface: Surface, refusal: Problem, request: FastifyRequest, reply: FastifyReply) {
    return this.answer(surface, request, reply, () => Promise.reject(refusal));
  }

  /** For surfaces whose bodies are not read by a schema: everything else happens to them in the same order. */
  async answer(
    surface: Surface,
    request: FastifyRequest,
    reply: FastifyReply,
    work: (caller: Caller) => Promise<unknown>,
  ): Promise<FastifyReply> {
    const startedMs = this.#clock.monotonic();
    const id = requestId(this.#random);
    const headers: Headers = { "X-Request-Id": id };
    let caller: Caller | undefined;
    try {
      caller = await surface.authenticate(request.headers);
      if (surface.limited) Object.assign(headers, await this.#limiter.count(caller));
      const result = await work(caller);
      return render(reply.headers(headers), result);
    } catch (error) {
      const refusal = this.#asProblem(error, id);
      const { contentType, body } = surface.refusal(refusal);
      // As bytes: to text Fastify would add a charset, which `application/problem+json` does not have.
      const bytes = Buffer.from(body);
      return reply.code(refusal.status).headers(headers).headers(refusal.headers).type(contentType).send(bytes);
    } finally {
      discardRest(request.raw, this.#clock);
      if (surface.logged) this.#logRequest(request, reply, { id, caller, ms: this.#clock.monotonic() - startedMs });
    }
  }

  /** Limits before reading, then the media type, then the bytes. */
  async #body(surface: Surface, operation: Operation, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    if (!operation.in) return undefined;
    const limit = operation.bodyLimit ?? DEFAULT_BODY_LIMIT;
    refuseTooLarge(request.raw, limit);
    if (surface.strictMediaType && hasBody(request.raw)) requireJson(request);
    const bytes = await readBody(request.raw, reply.raw, { limit, clock: this.#clock });
    if (bytes.length === 0) throw problem("malformed", "The request body is empty; a JSON object is required.");
    return assertValid(operation.in, parseJson(bytes));
  }

  /** What nobody foresaw becomes a 500 that names a log line and nothing else. */
  #asProblem(error: unknown, id: string): Problem {
    if (isProblem(error)) return error;
    this.#log.error({ requestId: id, err: error }, "unforeseen fault");
    return problem("internal", `An unexpected error occurred. It is in the server's log under the id ${id}.`, {
      cause: error,
    });
  }

  #logRequest(
    request: FastifyRequest,
    reply: FastifyReply,
    { id, caller, ms }: { id: string; caller?: Caller; ms: number },
  ) {
    // The path without its query, which may carry a key (`?api_key=`); never a header or a body.
    const path = request.url.split("?", 1)[0];
    const who = caller && { account: caller.account, key: caller.key };
    this.#log.info(
      { requestId: id, method: request.method, path, status: reply.statusCode, ms: Math.round(ms), ...who },
      "request",
    );
  }
}

/** JSON text that is ready to be sent. */
export class JsonText {
  readonly text: string | Uint8Array;

  constructor(text: string | Uint8Array) {
    this.text = text;
  }
}

const JSON_TYPE = "application/json; charset=utf-8";

function render(reply: FastifyReply, result: unknown): FastifyReply {
  // Nothing at all with 204: public clients try to parse whatever they get.
  if (result === undefined || result === reply) return result === reply ? reply : reply.send();
  return reply.type(JSON_TYPE).send(result instanceof JsonText ? result.text : JSON.stringify(result));
}

export function searchOf(request: FastifyRequest): URLSearchParams {
  const mark = request.url.indexOf("?");
  return new URLSearchParams(mark < 0 ? "" : request.url.slice(mark + 1));
}

/** `{id}` in our tables, `:id` in the router's. */
export function routePath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ":$1");
}

function methodsByPath(operations: Operations): Map<string, Method[]> {
  const byPath = new Map<string, Method[]>();
  for (const { path, method } of Object.values(operations)) byPath.set(path, [...(byPath.get(path) ?? []), method]);
  return byPath;
}

export function notAllowed(methods: readonly Method[]): Problem {
  const allow = METHODS.filter((method) => methods.includes(method)).join(", ");
  return problem("method-not-allowed", "The requested method is not allowed for this path.", {
    headers: { Allow: allow },
  });
}

function requireJson(request: FastifyRequest): void {
  const type = announcedBody(request.raw).mediaType;
  if (!/^application\/([\w.-]+\+)?json *(;|$)/i.test(type ?? "")) {
    throw problem(
      "unsupported-media-type",
      `The body must be sent as application/json, not ${type ? `'${clip(type)}'` : "without a type"}.`,
    );
  }
  const encoding = request.headers["content-encoding"];
  if (encoding && encoding !== "identity") {
    throw problem(
      "unsupported-media-type",
      `The content encoding '${clip(encoding)}' is not supported; send the body as it is.`,
    );
  }
}

const clip = (text: string) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
