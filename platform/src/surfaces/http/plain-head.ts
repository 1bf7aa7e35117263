/** Reads the head of a plain request: one that every program understands alike. All other heads are left to Node. */

export interface PlainHead {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Names and values in turn, as they were sent. */
  rawHeaders: readonly string[];
  /** The length of the head in bytes, with the empty line after it. */
  length: number;
  /** The announced length of the body. */
  bodyLength: number;
}

/** No request of a program has a longer head, and a longer one would have to be kept for each connection. */
const LONGEST_HEAD = 2048;
const END = Buffer.from("\r\n\r\n");

/**
 * A token, a colon, and visible characters, in each line. Nothing in it can be read in two ways, so it takes one pass, however it ends.
 * Bytes beyond ASCII, folded lines, bare line feeds and other versions or methods are not plain.
 */
const PLAIN =
  /^(GET|POST|PUT|PATCH|DELETE) (\/[\x21-\x7e]*) HTTP\/1\.1\r\n(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e]*\r\n)+$/;

/** These say how the message is framed, or ask something of the connection. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Undefined when the bytes do not begin with a complete and plain head. */
export function readPlainHead(bytes: Buffer): PlainHead | undefined {
  const end = bytes.indexOf(END);
  if (end < 0 || end + END.length > LONGEST_HEAD) return undefined;
  const text = bytes.toString("latin1", 0, end + 2);
  const [, method, url] = PLAIN.exec(text) ?? [];
  if (method === undefined || url === undefined) return undefined;
  const rawHeaders: string[] = [];
  const headers = readHeaders(text, text.indexOf("\r\n") + 2, rawHeaders);
  if (headers?.host === undefined) return undefined;
  const announced = headers["content-length"] ?? "0";
  if (!/^\d{1,6}$/.test(announced)) return undefined;
  return {
    method: method as PlainHead["method"],
    url,
    headers,
    rawHeaders,
    length: end + END.length,
    bodyLength: Number(announced),
  };
}

/** A header that comes twice is not plain, whatever its name. */
function readHeaders(text: string, from: number, raw: string[]): Record<string, string> | undefined {
  const headers: Record<string, string> = Object.create(null);
  for (let at = from; at < text.length; ) {
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
  return Object.freeze(headers);
}
