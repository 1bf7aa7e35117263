/** Sends a request body to a worker at the speed of the slower side: small ones with the head, others as they arrive. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import type { Problem } from "../../kernel/problem.ts";
import { announcedLength, hasBody, tooLarge, watchOf } from "../http/body.ts";
import type { SentHead } from "./sent-head.ts";

/** A text is written without another copy. Longer bodies are not turned into text. */
const IN_ONE_TEXT = 16 * 1024;

/** With these methods, a worker may expect to be told that there is no body. */
const EXPECT_BODY = new Set(["POST", "PUT", "PATCH", "QUERY", "PROPFIND", "PROPPATCH"]);

export interface Uploading {
  request: IncomingMessage;
  sent: SentHead;
  clock: Clock;
  /** The longest body, in bytes. */
  limit: number;
}

export interface Uploaded {
  /** Called when the client sends nothing although the worker is ready for more. */
  bodyStalled(): void;
  /** Called when the body may not be passed on. */
  bodyRefused(why: Problem): void;
}

/**
 * Whether the body, if any, has arrived. The parser marks a request complete only after those who wait for its body have run. The length
 * tells sooner.
 */
export function isHere(request: IncomingMessage): boolean {
  if (request.complete || !hasBody(request)) return true;
  return request.readableLength === Number(request.headers["content-length"]);
}

/** Sends a request. If its body has not arrived, it returns an upload that reads and sends the rest now that there is a connection. */
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

const headOf = ({ sent }: Uploading, framing: string): string => `${sent.text}${framing}\r\n`;

/** Sends a body as it arrives and counts its bytes, since a chunked body announces no length. */
export class Upload {
  readonly #worker: Duplex;
  readonly #uploading: Uploading;
  readonly #told: Uploaded;
  readonly #isChunked: boolean;
  readonly #arriving: { heardAt: number; stalled(): void };
  #sent = 0;
  /** Whether all of the body has been passed on. If not, the worker takes whatever comes next for the rest of it. */
  isWhole = false;
  #isOver = false;

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

  /** The worker accepts more bytes again. */
  drained(): void {
    if (this.#isOver) return;
    const { request, clock } = this.#uploading;
    this.#arriving.heardAt = clock.monotonic();
    watchOf(clock).add(this.#arriving);
    request.resume();
  }

  /** Stops passing the body on. The request is not destroyed: that would close its socket, and the client could not read the answer. */
  stop(): void {
    if (this.#isOver) return;
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
    // The watch for stalls is off here: the client is not the one who is late.
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
    this.isWhole = true;
    if (this.#isChunked) this.#worker.write("0\r\n\r\n", "latin1");
  };

  #leave(): void {
    const { request, clock } = this.#uploading;
    this.#isOver = true;
    watchOf(clock).delete(this.#arriving);
    request.off("data", this.#take).off("end", this.#finish);
  }
}
