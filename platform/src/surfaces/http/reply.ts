/** The answer to one request, for every surface. It collects the headers and sends them in one write with the body. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { writeHead } from "./head.ts";

/** A request as the server receives it: these two fields are always set. */
export type Request = IncomingMessage & { url: string; method: string };

/** The path parameters by name. */
export type Params = Record<string, string>;

/** Answers a request, whichever router brought it. */
export interface Answering {
  (request: Request, reply: Reply, params: Params): unknown;
  /** It also answers a request that Node has not read (`plain-door.ts`). */
  isPlain?: true;
  /** What its requests are counted as, where it was found ahead of the routes. */
  countedAs?: string;
}

export class Reply {
  readonly raw: ServerResponse;
  readonly headers: OutgoingHttpHeaders = {};
  status = 200;
  /** What the parts of a traced request say is before them. */
  traceparent: string | undefined = undefined;

  constructor(raw: ServerResponse) {
    this.raw = raw;
  }

  code(status: number): this {
    this.status = status;
    return this;
  }

  header(name: string, value: string): this {
    this.headers[name] = value;
    return this;
  }

  type(contentType: string): this {
    return this.header("Content-Type", contentType);
  }

  /**
   * Sends the answer. A 204 carries no body and no length, since public clients try to parse anything they get. Pieces are not joined in
   * memory.
   */
  send(body?: string | Uint8Array | readonly Uint8Array[]): this {
    if (body !== undefined) this.headers["Content-Length"] = lengthOf(body);
    else if (this.status !== 204) this.headers["Content-Length"] = 0;
    // Once the answer is out, Node emits no events for a body that no one has begun to read, and its bytes could not be counted.
    if (!this.raw.req.complete) this.raw.req.resume();
    writeHead(this.raw, this.status, this.headers);
    if (Array.isArray(body)) this.#endWith(body);
    else this.raw.end(body);
    return this;
  }

  #endWith(pieces: readonly Uint8Array[]): void {
    this.raw.cork();
    for (const piece of pieces) this.raw.write(piece);
    this.raw.end();
  }
}

function lengthOf(body: string | Uint8Array | readonly Uint8Array[]): number {
  if (typeof body === "string") return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.byteLength : body.reduce((sum, { byteLength }) => sum + byteLength, 0);
}
