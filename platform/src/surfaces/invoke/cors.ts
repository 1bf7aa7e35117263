/** Cross-origin requests of browsers: decides which pages may call endpoints, and answers the browser's preflight. */
import { resourceWords } from "../../contract.ts";
import type { Origins } from "../../kernel/origins.ts";
import type { Answering } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import type { Credentials } from "../http/surface.ts";
import { addressOf } from "../proxy/address.ts";

/** Response headers that a page may read in addition to those that browsers always expose. */
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
/** Browsers cache a preflight for no longer than this. */
const PREFLIGHT_S = 7200;
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+( *, *[\w!#$%&'*+.^`|~-]+)*$/;

/** A page must set the key in a header itself, so cookies play no part here. A page without a key gains nothing from these headers. */
export class CrossOrigin {
  readonly #origins: Origins;
  readonly #domain: string | undefined;

  constructor(origins: Origins, domain?: string) {
    this.#origins = origins;
    this.#domain = domain;
  }

  /** Headers for every answer, also for refusals and streams. Without them, the page learns only that something failed. */
  headers(origin: string | undefined): Record<string, string> {
    const varies: Record<string, string> = this.#origins === "*" ? {} : { Vary: "Origin" };
    const allowed = this.#allowed(origin);
    return allowed === undefined
      ? varies
      : { "Access-Control-Allow-Origin": allowed, "Access-Control-Expose-Headers": EXPOSED, ...varies };
  }

  /**
   * Answers the preflight that a browser sends before a page's request. It never carries a key, so it is answered before authentication.
   */
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

/** The answer is the same for every path: strangers must not learn whether an endpoint exists. */
function leave(allowed: string): Answering {
  return ({ headers }, reply) => {
    const names = headers["access-control-request-headers"];
    reply.code(204);
    reply.header("Access-Control-Allow-Origin", allowed);
    reply.header("Access-Control-Allow-Methods", METHODS);
    // A star would not cover `Authorization`, and clients send headers of their own.
    if (names !== undefined && HEADER_NAMES.test(names)) reply.header("Access-Control-Allow-Headers", names);
    reply.header("Access-Control-Max-Age", String(PREFLIGHT_S));
    reply.header("Vary", "Origin, Access-Control-Request-Headers");
    return reply.send();
  };
}

const isPreflight = ({ method, headers }: Credentials) =>
  method === "OPTIONS" && headers.origin !== undefined && headers["access-control-request-method"] !== undefined;

/** True for an endpoint's own host, and for `/v2/<word>` where the word names no resource, with any number of slashes. */
function isInvocation({ url, headers }: Credentials, domain: string | undefined): boolean {
  if (addressOf(url, headers.host, domain)) return true;
  const word = /^\/+v2\/+([^/?]+)/.exec(url)?.[1];
  return word !== undefined && !resourceWords.some((known) => known === word);
}
