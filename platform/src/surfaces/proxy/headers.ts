/** The headers that a request takes to a worker and an answer brings back: what belongs to one connection, one caller or one origin stays there. */
import { problem } from "../../kernel/problem.ts";
import type { Form } from "./address.ts";

/** Flat pairs of name and value, in their order, as node:http has them. */
export type RawHeaders = string[];

/** RFC 9110, 7.6.1, and what old clients send. */
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

/** With these a page speaks for its whole origin, which in the path form is that of the API and the console. */
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

/** A page without an origin can neither read the console's storage nor use its session. A second policy only ever tightens the first. */
const SANDBOX = "sandbox allow-scripts allow-forms";

const OURS = /^(__Host-millrace|millrace-port-)/i;

/** With which callers of Pods' ports show who they are, since `Authorization` is the program's own there. */
const KEY_HEADER = "x-millrace-key";

/** What is done with a header, found by one look; all others are passed on as they are. */
const kinds = <Kind extends string>(named: Record<Kind, readonly string[]>): ReadonlyMap<string, Kind> =>
  new Map((Object.keys(named) as Kind[]).flatMap((kind) => named[kind].map((name) => [name, kind] as const)));

const OF_REQUESTS = kinds({
  dropped: [...HOP_BY_HOP, ...workerHeaders, "expect", KEY_HEADER],
  forwarded: FORWARDED,
  authorization: ["authorization"],
  cookie: ["cookie"],
  host: ["host"],
});

const OF_ANSWERS = kinds({
  dropped: [...HOP_BY_HOP, ...workerHeaders],
  "for the origin": FOR_THE_ORIGIN.filter((name) => name !== "set-cookie"),
  "a cookie": ["set-cookie"],
  "a name": ["x-request-id"],
  "an opening": ["access-control-allow-origin"],
});

export interface Sender {
  /** The address of the connection. */
  remote: string | undefined;
  /** The text of the caller's key, which no worker gets to see. */
  key: string;
  /** The endpoint wants the `Authorization` header all the same. */
  keepsAuthorization: boolean;
  prefix: string;
}

export function requestHeaders(raw: readonly string[], sender: Sender): RawHeaders {
  const { remote = "unknown", prefix, keepsAuthorization, key } = sender;
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
      forwarded ??= new Map();
      forwarded.set(name, joined(forwarded.get(name), value));
    } else if (kind === "dropped" || dropped?.has(name)) continue;
    else if (!keepsAuthorization && (kind === "authorization" || holds(value, key))) continue;
    else if (kind === "cookie") keepCookies(kept, value);
    else kept.push(raw[i]!, value);
  }
  kept.push("X-Forwarded-For", joined(forwarded?.get("x-forwarded-for"), remote));
  kept.push("X-Forwarded-Proto", forwarded?.get("x-forwarded-proto") ?? "http");
  kept.push("X-Forwarded-Host", forwarded?.get("x-forwarded-host") ?? host);
  if (prefix) kept.push("X-Forwarded-Prefix", `${forwarded?.get("x-forwarded-prefix") ?? ""}${prefix}`);
  return kept;
}

/** `?api_key=<the caller's key>` is no business of the worker either. In a path the key cannot be left out, and is refused. */
export function withoutKey(target: string, key: string): string {
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

/** Encoded once more by each of a few programs on its way, a text is still the same. */
const ENCODINGS_AT_MOST = 3;

function holds(text: string, key: string): boolean {
  if (text.includes(key)) return true;
  let decoded = text;
  for (let i = 0; i < ENCODINGS_AT_MOST && decoded.includes("%"); i++) {
    decoded = decoded.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    if (decoded.includes(key)) return true;
  }
  return false;
}

/** A list may stand in several lines (RFC 9110, 5.3). */
const joined = (before: string | undefined, value: string) => (before ? `${before}, ${value}` : value);

/** `own` are the headers that the platform puts on this answer. */
export function responseHeaders(raw: readonly string[], form: Form, own: Record<string, unknown>): RawHeaders {
  const dropped = namesInConnection(raw);
  const kept: RawHeaders = [];
  let named = false;
  let opened = false;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    const value = raw[i + 1]!;
    const kind = OF_ANSWERS.get(name);
    if (kind === "dropped" || dropped?.has(name)) continue;
    if (form === "path" && (kind === "for the origin" || kind === "a cookie")) continue;
    if (kind === "a name") named = true;
    if (kind === "an opening") opened = true;
    if (kind === "a cookie") keepSetCookie(kept, value);
    else kept.push(raw[i]!, value);
  }
  for (const name in own) {
    // A worker that names its requests itself is asked about them by that name, and one that says whose pages may read it is heard.
    if (named && name === "X-Request-Id") continue;
    if (opened && name.startsWith("Access-Control-")) continue;
    kept.push(name, String(own[name]));
  }
  if (form === "path") kept.push("Content-Security-Policy", SANDBOX);
  return kept;
}

/** `Connection: close, x-mine` makes `x-mine` a header of this connection; each of several such headers counts. */
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

/** A cookie for the whole domain would reach the console and the endpoints of others: each host keeps its own. */
function keepSetCookie(kept: RawHeaders, value: string): void {
  if (OURS.test(value.trim())) return;
  const [pair = "", ...attributes] = value.split(";");
  const own = attributes.filter((attribute) => !/^\s*domain\s*(=|$)/i.test(attribute));
  kept.push("Set-Cookie", [pair, ...own].join(";"));
}
