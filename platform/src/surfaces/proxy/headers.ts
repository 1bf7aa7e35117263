/** Filters the headers between caller and worker: what belongs to one connection, one caller or one origin is not passed on. */
import { problem } from "../../kernel/problem.ts";
import type { Form } from "./address.ts";

/** Names and values in turn, in their order, as node:http has them. */
export type RawHeaders = string[];

/** The headers of RFC 9110, 7.6.1, and what old clients send. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

export const WORKER_HEADERS = ["X-Runpod-Worker-Id", "X-Millrace-Worker-Id"];
const workerHeaders = WORKER_HEADERS.map((name) => name.toLowerCase());

const FORWARDED = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-prefix"];

/** These headers act for a whole origin. In the path form, that is the origin of the API and the console. */
const FOR_THE_ORIGIN = [
  "alt-svc",
  "clear-site-data",
  "nel",
  "public-key-pins",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "set-cookie",
  "strict-transport-security",
];

/**
 * A page without an origin can neither read the console's storage nor use its session. Adding a second policy can only tighten the first.
 */
const SANDBOX = "sandbox allow-scripts allow-forms";

const OURS = /^(__Host-millrace|millrace-port-)/i;

/** Callers of Pod ports send their key in this header, since `Authorization` belongs to the program there. */
const KEY_HEADER = "x-millrace-key";

/** Maps each special header to its treatment, so that one lookup finds it. All other headers are passed on unchanged. */
const kinds = <Kind extends string>(named: Record<Kind, readonly string[]>): ReadonlyMap<string, Kind> =>
  new Map((Object.keys(named) as Kind[]).flatMap((kind) => named[kind].map((name) => [name, kind] as const)));

/** What a page of the console keeps for itself, beside the cookie of its session. */
const PAGE_HEADER = "x-millrace-page";

const OF_REQUESTS = kinds({
  dropped: [...HOP_BY_HOP, ...workerHeaders, "expect", KEY_HEADER, PAGE_HEADER],
  forwarded: FORWARDED,
  authorization: ["authorization"],
  cookie: ["cookie"],
  host: ["host"],
});

/** Proxies write the caller's address into these too. */
const OF_GUESTS: ReadonlySet<string> = new Set(["forwarded", "x-real-ip", "true-client-ip", "cf-connecting-ip", "via"]);
const OF_ANSWERS = kinds({
  dropped: [...HOP_BY_HOP, ...workerHeaders],
  "for the origin": FOR_THE_ORIGIN.filter((name) => name !== "set-cookie"),
  "a cookie": ["set-cookie"],
  "a name": ["x-request-id"],
  "an opening": ["access-control-allow-origin"],
});

export interface Sender {
  /** The remote address of the connection. */
  remote: string | undefined;
  /** Whether it is a proxy's, whose word about the way here is passed on. */
  isByProxy: boolean;
  isEncrypted: boolean;
  /** The text of the caller's key, which no worker gets to see; a person who is signed in has none. */
  key: string | undefined;
  /** The endpoint wants the `Authorization` header anyway. */
  keepsAuthorization: boolean;
  /** The caller is of another account than the endpoint. Its worker learns neither cookies nor the address. */
  isGuest?: boolean;
  prefix: string;
}

export function requestHeaders(raw: readonly string[], sender: Sender): RawHeaders {
  const { remote = "unknown", isByProxy, isEncrypted, prefix, keepsAuthorization, key, isGuest } = sender;
  const dropped = namesInConnection(raw);
  const kept: RawHeaders = [];
  let forwarded: Map<string, string> | undefined;
  let host = "";
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    const value = raw[i + 1]!;
    const kind = OF_REQUESTS.get(name);
    if (kind === "host") host = value;
    if (kind === "forwarded") {
      if (!isByProxy) continue;
      forwarded ??= new Map();
      forwarded.set(name, joined(forwarded.get(name), value));
    } else if (kind === "dropped" || dropped?.has(name)) continue;
    else if (!keepsAuthorization && (kind === "authorization" || holds(value, key))) continue;
    else if (isGuest && (kind === "cookie" || OF_GUESTS.has(name))) continue;
    else if (kind === "cookie") keepCookies(kept, value);
    else kept.push(raw[i]!, value);
  }
  if (!isGuest) kept.push("X-Forwarded-For", joined(forwarded?.get("x-forwarded-for"), remote));
  kept.push("X-Forwarded-Proto", forwarded?.get("x-forwarded-proto") ?? (isEncrypted ? "https" : "http"));
  kept.push("X-Forwarded-Host", forwarded?.get("x-forwarded-host") ?? host);
  if (prefix) kept.push("X-Forwarded-Prefix", `${forwarded?.get("x-forwarded-prefix") ?? ""}${prefix}`);
  return kept;
}

/** Removes `?api_key=<the caller's key>`, which the worker must not see. A key in the path cannot be removed, so it is refused. */
export function withoutKey(target: string, key: string | undefined): string {
  if (!holds(target, key)) return target;
  const [path = "", ...query] = target.split("?");
  const kept = query
    .join("?")
    .split("&")
    .filter((pair) => !holds(pair, key));
  const rest = kept.length > 0 ? `${path}?${kept.join("&")}` : path;
  if (!holds(rest, key)) return rest;
  throw problem(
    "rule-broken",
    "the API key must not stand in the path, which the worker sees: send it as Authorization",
  );
}

/** Each program on the way may encode a text once more, so the key is looked for under this many layers. */
const ENCODINGS_AT_MOST = 3;

function holds(text: string, key: string | undefined): boolean {
  if (key === undefined) return false;
  if (text.includes(key)) return true;
  let decoded = text;
  for (let i = 0; i < ENCODINGS_AT_MOST && decoded.includes("%"); i++) {
    decoded = decoded.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (decoded.includes(key)) return true;
  }
  return false;
}

/** A list may be spread over several header lines (RFC 9110, 5.3). */
const joined = (before: string | undefined, value: string) => (before ? `${before}, ${value}` : value);

/** What is passed on of a worker's headers, and which of ours it replaces. */
export interface KeptHeaders {
  kept: RawHeaders;
  /** The worker gave a request id. */
  isNamed: boolean;
  /** The worker said which pages may read its answer. */
  isOpened: boolean;
}

export function keptHeaders(raw: readonly string[], form: Form): KeptHeaders {
  const dropped = namesInConnection(raw);
  const kept: RawHeaders = [];
  let isNamed = false;
  let isOpened = false;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    const value = raw[i + 1]!;
    const kind = OF_ANSWERS.get(name);
    if (kind === "dropped" || dropped?.has(name)) continue;
    if (form === "path" && (kind === "for the origin" || kind === "a cookie")) continue;
    if (kind === "a name") isNamed = true;
    if (kind === "an opening") isOpened = true;
    if (kind === "a cookie") keepSetCookie(kept, value);
    else kept.push(raw[i]!, value);
  }
  if (form === "path") kept.push("Content-Security-Policy", SANDBOX);
  return { kept, isNamed, isOpened };
}

/** A worker's own request id wins, since people ask the worker about it. A worker's own CORS headers win too. */
export const isReplaced = (name: string, { isNamed, isOpened }: KeptHeaders) =>
  (isNamed && name === "X-Request-Id") || (isOpened && name.startsWith("Access-Control-"));

/** `own` are the headers that Millrace adds to this answer. */
export function responseHeaders(raw: readonly string[], form: Form, own: Record<string, unknown>): RawHeaders {
  const headers = keptHeaders(raw, form);
  for (const name in own) if (!isReplaced(name, headers)) headers.kept.push(name, String(own[name]));
  return headers.kept;
}

/** `Connection: close, x-mine` makes `x-mine` a header of this connection only. There may be several `Connection` headers. */
function namesInConnection(raw: readonly string[]): Set<string> | undefined {
  let names: Set<string> | undefined;
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i]!.length !== "connection".length || raw[i]!.toLowerCase() !== "connection") continue;
    const value = raw[i + 1]!;
    if (value === "close" || value === "keep-alive") continue;
    names ??= new Set();
    for (const name of value.split(",")) names.add(name.trim().toLowerCase());
  }
  return names;
}

function keepCookies(kept: RawHeaders, value: string): void {
  const cookies = value
    .split(";")
    .map((cookie) => cookie.trim())
    .filter((cookie) => !OURS.test(cookie));
  if (cookies.length > 0) kept.push("Cookie", cookies.join("; "));
}

/** A cookie for the whole domain would reach the console and other endpoints, so each host keeps its own. */
function keepSetCookie(kept: RawHeaders, value: string): void {
  if (OURS.test(value.trim())) return;
  const [pair = "", ...attributes] = value.split(";");
  const own = attributes.filter((attribute) => !/^\s*domain\s*(=|$)/i.test(attribute));
  kept.push("Set-Cookie", [pair, ...own].join(";"));
}
