/** A plain request that has arrived completely, and its answer, with the parts of Node's own classes that plain routes use. */
import { EventEmitter } from "node:events";
import { type OutgoingHttpHeaders, STATUS_CODES, validateHeaderName, validateHeaderValue } from "node:http";
import type { Socket } from "node:net";
import type { RouteCounts } from "../../kernel/request-counts.ts";
import type { PlainHead } from "./plain-head.ts";
import type { Found } from "./router.ts";

/** Node makes two streams for each request, which cost more than everything else about a small one. */
export class PlainRequest {
  readonly socket: Socket;
  /** The same object for as long as a connection repeats its head. */
  readonly head: PlainHead;
  readonly method: PlainHead["method"];
  readonly url: string;
  readonly headers: PlainHead["headers"];
  readonly httpVersion = "1.1";
  readonly complete = true;
  /** What answers it. */
  route: Found | undefined = undefined;
  #body: Buffer | null;

  constructor(socket: Socket, head: PlainHead, body: Buffer) {
    const { method, url, headers } = head;
    this.socket = socket;
    this.head = head;
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.#body = body.length > 0 ? body : null;
  }

  get destroyed(): boolean {
    return this.socket.destroyed;
  }

  get rawHeaders(): readonly string[] {
    return this.head.rawHeaders;
  }

  /** The whole body, once. */
  read(): Buffer | null {
    const body = this.#body;
    this.#body = null;
    return body;
  }

  async *iterator(): AsyncGenerator<Buffer> {
    const body = this.read();
    if (body) yield body;
  }

  pause(): this {
    return this;
  }

  resume(): this {
    return this;
  }
}

/** What every answer says about its connection. */
export interface Manner {
  /** The text of the `Date` header. */
  date(): string;
  /** The lines about the connection, which stays open. */
  kept: string;
}

type Body = string | Uint8Array | undefined;

/** Headers of another program's answer as they are sent. */
export interface PassedLines {
  text: string;
  /** The length that they announce. */
  length: number | undefined;
  /** Whether they say when the answer was made. */
  isDated: boolean;
}

/** Throws if a name or a value is not valid, or if they would frame the answer in two ways. `headers` has names and values in turn. */
export function passedLines(headers: readonly string[]): PassedLines {
  const lines: PassedLines = { text: "", length: undefined, isDated: false };
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i]!, headers[i + 1]!];
    validateHeaderName(name);
    validateHeaderValue(name, value);
    const lower = OWN.test(name) ? name.toLowerCase() : "";
    if (lower === "date") lines.isDated = true;
    else if (lower === "content-length" && lines.length === undefined && /^\d{1,15}$/.test(value))
      lines.length = Number(value);
    else if (lower !== "") throw new Error(`'${name}' is not for a program to set so`);
    lines.text += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** Names that were found to be valid. All come from this program, so they are few. */
const validNames = new Set<string>();
const statusLines = new Map<number, string>();

export class PlainResponse extends EventEmitter {
  readonly req: PlainRequest;
  readonly socket: Socket;
  readonly #manner: Manner;
  statusCode = 200;
  statusMessage = "";
  destroyed = false;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  /** What it is counted as, and since when it is under way. */
  counts: RouteCounts | undefined = undefined;
  beganMs = 0;
  /** The head, until it is written. */
  #head = "";
  #length: number | undefined;
  #isChunked = false;
  #isLast = false;
  #isCorked = false;
  /** The connection takes no more for now. */
  #isFull = false;

  constructor(req: PlainRequest, manner: Manner) {
    super();
    this.req = req;
    this.socket = req.socket;
    this.#manner = manner;
  }

  writeHead(status: number, given: string | OutgoingHttpHeaders, more?: OutgoingHttpHeaders): this {
    return this.#ownHead(status, typeof given === "string" ? (more ?? {}) : given);
  }

  #ownHead(status: number, headers: OutgoingHttpHeaders): this {
    let text = lineOf(status);
    for (const name in headers) text += linesOf(name, headers[name]);
    const { "Content-Length": length, Connection: connection } = headers;
    this.#isLast = connection === "close";
    return this.#begin(status, text, length === undefined ? undefined : Number(length), false);
  }

  /** Begins an answer with lines that were checked before. */
  passHead(status: number, { text, length, isDated }: PassedLines, phrase: string, own = ""): this {
    const line = `HTTP/1.1 ${status} ${phrase || STATUS_CODES[status] || "unknown"}\r\n`;
    return this.#begin(status, line + text + own, length, isDated);
  }

  #begin(status: number, lines: string, length: number | undefined, isDated: boolean): this {
    if (this.headersSent) throw new Error("the head of this answer was written before");
    this.#length = length;
    this.#isChunked = length === undefined && status !== 204 && status !== 304;
    const framing = this.#isChunked ? "Transfer-Encoding: chunked\r\n" : "";
    const date = isDated ? "" : `Date: ${this.#manner.date()}\r\n`;
    this.statusCode = status;
    this.#head = `${lines}${framing}${date}${this.#isLast ? "\r\n" : this.#manner.kept}`;
    this.headersSent = true;
    return this;
  }

  flushHeaders(): void {
    if (this.#head !== "") this.#put(undefined);
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.writableEnded || chunk.length === 0) return true;
    if (!this.headersSent) this.#ownHead(this.statusCode, {});
    const takesMore = this.#isChunked ? this.#putChunk(chunk) : this.#put(chunk);
    if (!takesMore && !this.#isFull) {
      this.#isFull = true;
      this.socket.once("drain", () => {
        this.#isFull = false;
        this.emit("drain");
      });
    }
    return takesMore;
  }

  /** A text in `latin1` has one byte for each character. */
  end(body?: Body, encoding?: "latin1"): this {
    if (this.writableEnded) return this;
    if (!this.headersSent) this.#ownHead(this.statusCode, { "Content-Length": body ? Buffer.byteLength(body) : 0 });
    if (this.#isChunked) {
      const bytes = encoding && typeof body === "string" ? Buffer.from(body, encoding) : body;
      if (bytes && bytes.length > 0) this.#putChunk(bytes);
      this.#put("0\r\n\r\n", "latin1");
    } else if (this.#head !== "" || body) this.#put(body, encoding);
    this.writableEnded = true;
    if (this.#isCorked) this.socket.uncork();
    if (this.#isLast) this.socket.destroySoon();
    // Nearly always the system takes the answer at once.
    if (!this.socket.writable || this.socket.writableLength === 0) this.#left();
    else this.socket.write("", () => this.#left());
    return this;
  }

  cork(): void {
    this.#isCorked = true;
    this.socket.cork();
  }

  /** Breaks the connection. */
  destroy(): this {
    this.destroyed = true;
    this.socket.destroy();
    return this;
  }

  /** Called once the answer has left, or the connection is closed. */
  closed(): void {
    this.destroyed = true;
    this.emit("close");
  }

  /** If the connection has closed on this side, its end is heard of elsewhere. */
  #left(): void {
    if (this.destroyed || !this.socket.writable) return;
    this.writableFinished = true;
    this.closed();
  }

  /** The bytes of the chunk are not copied. */
  #putChunk(part: string | Uint8Array): boolean {
    const { socket } = this;
    socket.cork();
    this.#put(`${Buffer.byteLength(part).toString(16)}\r\n`, "latin1");
    this.#put(part);
    const takesMore = this.#put("\r\n", "latin1");
    socket.uncork();
    return takesMore;
  }

  /** Writes the head with the first part of the body. */
  #put(part: Body, encoding?: "latin1"): boolean {
    const head = this.#head;
    this.#head = "";
    const { socket } = this;
    if (!socket.writable) return false;
    if (part === undefined) return socket.write(head, "latin1");
    if (typeof part !== "string") {
      if (head === "") return socket.write(part);
      socket.cork();
      socket.write(head, "latin1");
      const isRoomLeft = socket.write(part);
      socket.uncork();
      return isRoomLeft;
    }
    // A text of one byte for each character need not be encoded.
    return socket.write(head + part, encoding ?? (this.#length === part.length ? "latin1" : "utf8"));
  }
}

function lineOf(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) {
    if (STATUS_CODES[status] === undefined) throw new RangeError(`${status} is not a status of HTTP`);
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    statusLines.set(status, line);
  }
  return line;
}

/** Headers that frame the answer are recognized by this spelling, and must not come by in another. */
const OWN_SPELLING = /^(?:Content-Length|Connection)$/;
const OWN = /^(?:content-length|connection|transfer-encoding|keep-alive|date)$/i;

export function linesOf(name: string, value: OutgoingHttpHeaders[string]): string {
  if (!validNames.has(name)) {
    validateHeaderName(name);
    if (OWN.test(name) && !OWN_SPELLING.test(name)) throw new Error(`'${name}' is not for a handler to set so`);
    validNames.add(name);
  }
  if (Array.isArray(value)) return value.map((one) => linesOf(name, one)).join("");
  if (typeof value !== "number") validateHeaderValue(name, value as string);
  return `${name}: ${value}\r\n`;
}
