/** Reads the head of a plain request: one that every program understands alike. All other heads are left to Node. */

export interface PlainHead {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Names and values in turn, as they were sent. */
  rawHeaders: readonly string[];
  /** All of it, with the empty line after it. */
  text: string;
  /** The announced length of the body. */
  bodyLength: number;
  /** What the one who answers has made of it. A connection that repeats its head brings the same object again. */
  made: object | undefined;
}

/** No request of a program has a longer head, and a longer one would have to be kept for each connection. */
const LONGEST_HEAD = 2048;
const END = Buffer.from("\r\n\r\n");

/**
 * A token, a colon, and visible characters, in each line. Nothing in it can be read in two ways, so it takes one pass, however it ends.
 * Bytes beyond ASCII, folded lines, bare line feeds and other versions or methods are not plain.
 */
const PLAIN =
  /^(GET|POST|PUT|PATCH|DELETE) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e]*\r\n)+\r\n$/;

/** These say how the message is framed, or ask something of the connection. Node leaves the first one out. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  "__proto__",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Undefined when the bytes do not begin with a complete and plain head. `last` is what the same connection brought before: most clients
 * repeat their head, and then it is not read again.
 */
export function readPlainHead(bytes: Buffer, last?: PlainHead): PlainHead | undefined {
  if (last && bytes.toString("latin1", 0, last.text.length) === last.text) return last;
  const end = bytes.indexOf(END);
  if (end < 0 || end + END.length > LONGEST_HEAD) return undefined;
  const text = bytes.toString("latin1", 0, end + END.length);
  const [, method, url] = PLAIN.exec(text) ?? [];
  if (method === undefined || url === undefined) return undefined;
  const rawHeaders: string[] = [];
  const headers = readHeaders(text, rawHeaders);
  if (headers?.host === undefined) return undefined;
  const announced = headers["content-length"] ?? "0";
  if (!/^\d{1,6}$/.test(announced)) return undefined;
  const bodyLength = Number(announced);
  return { text, method: method as PlainHead["method"], url, headers, rawHeaders, bodyLength, made: undefined };
}

/** A header that comes twice is not plain, whatever its name. */
function readHeaders(text: string, raw: string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = Object.create(null);
  const stop = text.length - 2;
  for (let at = text.indexOf("\r\n") + 2; at < stop; ) {
    const colon = text.indexOf(":", at);
    const end = text.indexOf("\r\n", colon);
    const sent = text.slice(at, colon);
    const name = sent.toLowerCase();
    const value = text.slice(colon + 1, end).trim();
    if (name in headers || NOT_PLAIN.has(name)) return undefined;
    if (name === "connection" && value.toLowerCase() !== "keep-alive") return undefined;
    headers[name] = value;
    raw.push(sent, value);
    at = end + 2;
  }
  return headers;
}
