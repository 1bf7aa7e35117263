/** The answer to one request, as every surface gives it: its headers are gathered and leave in one write with the body. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { writeHead } from "./head.ts";

/** A request as a server gets it, which always has these two. */
export type Request = IncomingMessage & { url: string; method: string };

/** Named pieces of the path. */
export type Params = Record<string, string>;

/** Answers a request, whichever router brought it. */
export type Answering = (request: Request, reply: Reply, params: Params) => unknown;

export class Reply {
  readonly raw: ServerResponse;
  readonly headers: OutgoingHttpHeaders = {};
  status = 200;

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

  /** Without a body, nothing at all goes with 204: public clients try to parse whatever they get. Pieces are not joined in memory. */
  send(body?: string | Uint8Array | readonly Uint8Array[]): this {
    if (body !== undefined) this.headers["Content-Length"] = lengthOf(body);
    else if (this.status !== 204) this.headers["Content-Length"] = 0;
    // Node stops telling of a body that nobody has begun to read when the answer is out, and its bytes could not be counted.
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
