/** The body of a request on its way to a worker, at the speed of the slower side: small ones in one piece with the head, others as they come. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import type { Problem } from "../../kernel/problem.ts";
import { announcedLength, hasBody, tooLarge, watchOf } from "../http/body.ts";
import type { RawHeaders } from "./headers.ts";

/** A text is written without being copied once more; a longer body is not made one. */
const IN_ONE_TEXT = 16 * 1024;

/** Of these a worker may expect to be told that there is no body. */
const EXPECT_BODY = new Set(["POST", "PUT", "PATCH", "QUERY", "PROPFIND", "PROPPATCH"]);

export interface Uploading {
  request: IncomingMessage;
  target: string;
  headers: RawHeaders;
  clock: Clock;
  /** Of a body, in bytes. */
  limit: number;
}

export interface Uploaded {
  /** Called when the client sends nothing although the worker takes what comes. */
  bodyStalled(): void;
  /** Called when the body is none that may be passed on. */
  bodyRefused(why: Problem): void;
}

/** Whether its body, if any, has come. The parser calls a request complete only after those who wait for its body have run; its length tells sooner. */
export function isHere(request: IncomingMessage): boolean {
  if (request.complete || !hasBody(request)) return true;
  return request.readableLength === Number(request.headers["content-length"]);
}

/** Sends a request. Returns what is left to do where its body is not here: what has not come is not read before there is a connection. */
export function send(worker: Duplex, uploading: Uploading, told: Uploaded): Upload | undefined {
  const { request } = uploading;
  if (!isHere(request)) return new Upload(worker, uploading, told);
  const body = hasBody(request) ? (request.read() as Buffer | null) : null;
  const length = body?.length ?? 0;
  const head = headOf(uploading, length > 0 || EXPECT_BODY.has(request.method!) ? `Content-Length: ${length}\r\n` : "");
  if (!body) worker.write(head, "latin1");
  else if (length <= IN_ONE_TEXT) worker.write(head + body.toString("latin1"), "latin1");
  else {
    worker.cork();
    worker.write(head, "latin1");
    worker.write(body);
    worker.uncork();
  }
  return undefined;
}

/** What says how long the body is, is said by us, who send it. */
function headOf({ request, target, headers }: Uploading, framing: string): string {
  let text = `${request.method} ${target} HTTP/1.1\r\n`;
  let hasHost = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length === 14 && name.toLowerCase() === "content-length") continue;
    if (name.length === 4 && name.toLowerCase() === "host") hasHost = true;
    text += `${name}: ${headers[i + 1]}\r\n`;
  }
  return `${text}${hasHost ? "" : "Host: worker\r\n"}Connection: keep-alive\r\n${framing}\r\n`;
}

/** Counted as it goes, for a body in chunks announces no length. */
export class Upload {
  readonly #worker: Duplex;
  readonly #uploading: Uploading;
  readonly #told: Uploaded;
  readonly #isChunked: boolean;
  readonly #arriving: { heardAt: number; stalled(): void };
  #sent = 0;
  isOver = false;

  constructor(worker: Duplex, uploading: Uploading, told: Uploaded) {
    const { request, clock } = uploading;
    this.#worker = worker;
    this.#uploading = uploading;
    this.#told = told;
    this.#isChunked = request.headers["transfer-encoding"] !== undefined;
    this.#arriving = { heardAt: clock.monotonic(), stalled: () => told.bodyStalled() };
    const framing = this.#isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${announcedLength(request)}`;
    worker.write(headOf(uploading, `${framing}\r\n`), "latin1");
    watchOf(clock).add(this.#arriving);
    request.on("data", this.#take).on("end", this.#finish);
  }

  /** The worker takes more again. */
  drained(): void {
    if (this.isOver) return;
    const { request, clock } = this.#uploading;
    this.#arriving.heardAt = clock.monotonic();
    watchOf(clock).add(this.#arriving);
    request.resume();
  }

  /** Nothing more of it is passed on. The request is not destroyed: its socket would go with it, and nobody would read the answer. */
  stop(): void {
    if (this.isOver) return;
    this.#leave();
    this.#uploading.request.pause();
  }

  readonly #take = (chunk: Buffer) => {
    const { clock, limit, request } = this.#uploading;
    this.#sent += chunk.length;
    if (this.#sent > limit) {
      this.stop();
      this.#told.bodyRefused(tooLarge(limit));
      return;
    }
    this.#arriving.heardAt = clock.monotonic();
    if (this.#write(chunk)) return;
    // It is not the client that keeps us waiting.
    watchOf(clock).delete(this.#arriving);
    request.pause();
  };

  #write(chunk: Buffer): boolean {
    if (!this.#isChunked) return this.#worker.write(chunk);
    this.#worker.cork();
    this.#worker.write(`${chunk.length.toString(16)}\r\n`, "latin1");
    this.#worker.write(chunk);
    const takesMore = this.#worker.write("\r\n", "latin1");
    this.#worker.uncork();
    return takesMore;
  }

  readonly #finish = () => {
    this.#leave();
    if (this.#isChunked) this.#worker.write("0\r\n\r\n", "latin1");
  };

  #leave(): void {
    const { request, clock } = this.#uploading;
    this.isOver = true;
    watchOf(clock).delete(this.#arriving);
    request.off("data", this.#take).off("end", this.#finish);
  }
}
