/** Decides who may use a Pod's HTTP port: a key of its account, a browser that opened a link to it, or anyone if ports are public. */
import type { Authenticator } from "../../guards/authenticate.ts";
import { requireOperation } from "../../guards/scopes.ts";
import type { Caller } from "../../kernel/caller.ts";
import { problem } from "../../kernel/problem.ts";
import type { PodRecords } from "../../resources/pods/records.ts";
import { type PortVisits, VISIT_MS } from "../../resources/pods/visits.ts";
import type { Request } from "../http/reply.ts";
import { isOwnPage } from "./own-page.ts";
import type { PodAddress } from "./pod-address.ts";

/** Used in place of `Authorization`, which belongs to the program. */
const KEY_HEADER = "x-millrace-key";

export interface PodAccessParts {
  authenticator: Authenticator;
  portVisits: PortVisits;
  podRecords: PodRecords;
  isPublic: boolean;
  /** Whether browsers connect over TLS. Names below `localhost` never do. */
  isTls: () => boolean;
}

const NEEDED = { scope: "pods:read", narrowed: "refused", byPod: true } as const;

export class PodAccess {
  readonly #parts: PodAccessParts;

  constructor(parts: PodAccessParts) {
    this.#parts = parts;
  }

  /** Finds the caller. Strangers are refused before the Pod is looked up, so that they cannot learn whether it exists. */
  async callerAt(address: PodAddress, request: Request): Promise<Caller> {
    const { authenticator, isPublic } = this.#parts;
    const key = request.headers[KEY_HEADER];
    if (key !== undefined) {
      const caller = await authenticator.key(String(key));
      requireOperation(caller, NEEDED);
      return caller;
    }
    const caller = isPublic ? await this.#anybody(address) : await this.#visitor(address, request);
    if (caller) return caller;
    throw problem("unauthenticated", isPublic ? NOT_HERE : refusalAt(address));
  }

  /** Opens a link, which works once. */
  async open(address: PodAddress): Promise<{ caller: Caller; cookie: string }> {
    const opened = await this.#parts.portVisits.open(address.link!, address);
    if (!opened) throw problem("not-found", "This link was opened before, or its time is over: ask for a new one.");
    const cookie = [`${this.#cookieName(address)}=${opened.token}`, "Path=/", `Max-Age=${VISIT_MS / 1000}`, "HttpOnly"];
    const secure = this.#isSecure(address) ? ["Secure"] : [];
    return { caller: opened.visitor, cookie: [...cookie, "SameSite=Lax", ...secure].join("; ") };
  }

  #isSecure({ isLocal }: PodAddress): boolean {
    return !isLocal && this.#parts.isTls();
  }

  /**
   * Under TLS the cookie has the prefix that keeps other hosts from setting it. Without TLS it is named after its Pod and port, so that a
   * cookie that another Pod's page sets for the whole domain is not mistaken for it.
   */
  #cookieName(address: PodAddress): string {
    return this.#isSecure(address) ? "__Host-millrace-port" : `millrace-port-${address.pod}-${address.port}`;
  }

  /** Use by strangers counts as use by the Pod's owner. */
  async #anybody({ pod }: PodAddress): Promise<Caller> {
    const found = await this.#parts.podRecords.pods.get(pod);
    if (!found) throw problem("not-found", NOT_HERE);
    return { account: found.account, user: "", key: "", grants: [], exempt: false };
  }

  /** In the path form the origin is that of the API, so cookies are neither set nor read. */
  async #visitor(address: PodAddress, request: Request): Promise<Caller | undefined> {
    if (address.form === "path") return undefined;
    for (const token of cookiesIn(request, this.#cookieName(address))) {
      const visitor = await this.#parts.portVisits.visitor(token, address);
      if (!visitor) continue;
      if (isOwnPage(request)) return visitor;
      throw problem("not-allowed", "A page of another origin cannot use this port with the visitor's cookie.");
    }
    return undefined;
  }
}

export const NOT_HERE = "there is no such port";

function refusalAt({ pod, port, form }: PodAddress): string {
  const byLink = form === "host" ? `, or open a link made by POST /v2/pods/${pod}/ports/${port}/link` : "";
  return `Ports of Pods are private here: send an API key as X-Millrace-Key${byLink}.`;
}

const MOST_COOKIES = 5;

/** There may be several cookies of this name, and others may have set some of them. */
function cookiesIn({ headers }: Request, name: string): string[] {
  const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim());
  const own = pairs.filter((pair) => pair.startsWith(`${name}=`));
  return own.slice(0, MOST_COOKIES).map((pair) => pair.slice(name.length + 1));
}
