/** Cross-origin requests of browsers: which pages may call endpoints, and what a browser is told before and after it lets them. */
import { resourceWords } from "../../contract.ts";
import type { Origins } from "../../kernel/origins.ts";
import type { Answering, Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import { addressOf } from "../proxy/address.ts";

/** The headers of answers that a page may read beside those that every page may. */
const EXPOSED = [
  "Allow",
  "Retry-After",
  "X-Job-Id",
  "X-Job-Status",
  "X-Millrace-Worker-Id",
  "X-Reason-Code",
  "X-Request-Id",
  "X-Runpod-Worker-Id",
].join(", ");
const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
/** The longest that browsers go by it. */
const PREFLIGHT_S = 7200;
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+( *, *[\w!#$%&'*+.^`|~-]+)*$/;

/**
 * Keys travel in a header that a page has to set itself, so nothing here is about cookies: what no page could do without a key it
 * cannot do with this either.
 */
export class CrossOrigin {
  readonly #origins: Origins;
  readonly #domain: string | undefined;

  constructor(origins: Origins, domain?: string) {
    this.#origins = origins;
    this.#domain = domain;
  }

  /** For every answer, refusals and streams too: without them its page learns only that something failed. */
  headers(origin: string | undefined): Record<string, string> {
    const varies: Record<string, string> = this.#origins === "*" ? {} : { Vary: "Origin" };
    const allowed = this.#allowed(origin);
    return allowed === undefined
      ? varies
      : { "Access-Control-Allow-Origin": allowed, "Access-Control-Expose-Headers": EXPOSED, ...varies };
  }

  /** The question that a browser asks before it sends a page's request. It never carries a key, and is answered before anybody asks for one. */
  readonly preflights: Ahead = {
    find: (request) => {
      if (!isPreflight(request) || !isInvocation(request, this.#domain)) return undefined;
      const allowed = this.#allowed(request.headers.origin);
      return allowed === undefined ? undefined : leave(allowed);
    },
    mayUpgrade: () => false,
    upgrade: () => {},
  };

  #allowed(origin: string | undefined): string | undefined {
    if (this.#origins === "*") return "*";
    return origin !== undefined && this.#origins.has(origin) ? origin : undefined;
  }
}

/** The same for every path: whether there is such an endpoint is not for strangers to know. */
function leave(allowed: string): Answering {
  return ({ headers }, reply) => {
    const names = headers["access-control-request-headers"];
    reply.code(204);
    reply.header("Access-Control-Allow-Origin", allowed);
    reply.header("Access-Control-Allow-Methods", METHODS);
    // A star would not cover `Authorization`, and clients bring headers of their own.
    if (names !== undefined && HEADER_NAMES.test(names)) reply.header("Access-Control-Allow-Headers", names);
    reply.header("Access-Control-Max-Age", String(PREFLIGHT_S));
    reply.header("Vary", "Origin, Access-Control-Request-Headers");
    return reply.send();
  };
}

const isPreflight = ({ method, headers }: Request) =>
  method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;

/** An endpoint's own host, or `/v2/<anything that is no resource word>`, however many slashes there are. */
function isInvocation({ url, headers }: Request, domain: string | undefined): boolean {
  if (addressOf(url, headers.host, domain)) return true;
  const word = /^\/+v2\/+([^/?]+)/.exec(url)?.[1];
  return word !== undefined && !resourceWords.some((known) => known === word);
}
