/** Checks that a request with a session comes from a page of this server, and reads and writes the session cookie. */
import type { IncomingHttpHeaders } from "node:http";
import { problem } from "../kernel/problem.ts";

/** Because of the prefix, browsers accept this cookie only from this very host over a secure connection. */
const SESSION_COOKIE = "__Host-millrace-session";
/** Kept while the browser is at the identity provider. */
const PENDING_COOKIE = "__Host-millrace-sign-in";
/** Browsers send cookies to every port of a host, but a page's own storage stays with its origin. */
const PAGE_HEADER = "x-millrace-page";

export interface Asking {
  headers: IncomingHttpHeaders;
  method: string;
}

/** Reads the two secrets of a session from a request. */
export function sessionIn(headers: IncomingHttpHeaders): { secret: string; page: string | undefined } | undefined {
  const secret = cookieIn(headers, SESSION_COOKIE);
  return secret === undefined ? undefined : { secret, page: headers[PAGE_HEADER]?.toString() };
}

/** Reads the secret of a sign-in that the browser began at the identity provider. */
export const pendingIn = (headers: IncomingHttpHeaders) => cookieIn(headers, PENDING_COOKIE);

function cookieIn({ cookie }: IncomingHttpHeaders, name: string): string | undefined {
  // By far most requests have no cookie, and programs send none.
  const pair = cookie?.split(";").find((one) => one.trim().startsWith(`${name}=`));
  return pair?.slice(pair.indexOf("=") + 1).trim();
}

interface KeptSecret {
  secret: string;
  forS: number;
}

export const sessionCookie = (session: KeptSecret | undefined) =>
  cookieOf(SESSION_COOKIE, session ?? { secret: "", forS: 0 });
export const pendingCookie = (pending: KeptSecret) => cookieOf(PENDING_COOKIE, pending);

/** Strict costs nothing: loading the page needs no cookie, and the page's own requests always carry it. */
const cookieOf = (name: string, { secret, forS }: KeptSecret) =>
  `${name}=${secret}; Path=/; Max-Age=${forS}; HttpOnly; Secure; SameSite=Strict`;

const SAFE = ["GET", "HEAD"];
const OWN = ["same-origin", "none"];

/**
 * Refuses requests that pages of other origins make with the visitor's session. Browsers send `Origin` with every change, and `Sec-Fetch-Site`
 * with everything.
 */
export function requireOwnPage({ headers, method }: Asking, publicUrl: string | undefined): void {
  const { origin, "sec-fetch-site": site } = headers;
  const isOwn = origin === undefined ? SAFE.includes(method) : isOwnOrigin(origin, headers.host, publicUrl);
  if (isOwn && (site === undefined || OWN.includes(String(site)))) return;
  throw problem("not-allowed", foreign(origin, headers.host), { reason: "foreign-page" });
}

function foreign(origin: string | undefined, host = ""): string {
  if (origin === undefined)
    return "A request that changes something by a session must say where it comes from, as 'Origin'.";
  return (
    `Only pages of this server use its sessions, and this one is of ${clip(origin)}. ` +
    `If that is the server's own address, which it knows as '${clip(host)}', set MILLRACE_PUBLIC_URL.`
  );
}

const clip = (text: string) => (text.length > 100 ? `${text.slice(0, 100)}…` : text);

function isOwnOrigin(origin: string, host: string | undefined, publicUrl: string | undefined): boolean {
  if (!URL.canParse(origin)) return false;
  const { host: from } = new URL(origin);
  return from === host?.toLowerCase() || (publicUrl !== undefined && new URL(publicUrl).origin === origin);
}

/** Hosts that browsers treat as secure even over plain HTTP. */
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Says why a browser would not keep a Secure cookie here; undefined if it would. */
export function hindranceOf(
  { headers }: Pick<Asking, "headers">,
  isSecure: boolean,
  publicUrl: string | undefined,
): string | undefined {
  const { origin, host = "" } = headers;
  const address = origin ?? `${isSecure ? "https" : "http"}://${host}`;
  if (!URL.canParse(address)) return "The address of this page cannot be told from the request.";
  const { protocol, hostname } = new URL(address);
  if (protocol === "https:" || LOOPBACK.test(hostname)) return undefined;
  const instead = publicUrl?.startsWith("https:")
    ? `open ${publicUrl}`
    : "put a proxy that speaks TLS in front and set MILLRACE_PUBLIC_URL";
  return (
    `Browsers keep a session over https, or at http://127.0.0.1 and http://localhost, and not at http://${hostname}: ` +
    `${instead}, or come by 'ssh -L 7420:127.0.0.1:7420' and open http://127.0.0.1:7420.`
  );
}
