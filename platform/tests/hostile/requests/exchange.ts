/** Sends one request as bytes on a socket and reads the answer. Without a client library, anything can be sent. */
import { connect, type Socket } from "node:net";

export interface Answer {
  status: number;
  headers: Map<string, string>;
  text: string;
  /** Whether the answer is complete: it announced its length, and all of it arrived. */
  isWhole: boolean;
}

export type Outcome =
  | { kind: "answered"; answer: Answer; ms: number }
  /** The client hung up on purpose. */
  | { kind: "let go" }
  | { kind: "silent"; ms: number }
  /** The connection ended without an answer. */
  | { kind: "closed"; why: string };

export interface Bytes {
  bytes: Buffer;
  isHead: boolean;
  /** Whether the connection can be used again. After badly framed bytes nobody knows how the server understood them. */
  isFramed: boolean;
  /** How long to wait. After that the client hangs up. */
  patienceMs: number;
  /** Whether the server may take longer, so that a missing answer is no fault. */
  mayLast: boolean;
}

const MOST_IDLE = 32;

export class Connections implements Disposable {
  readonly #port: number;
  readonly #idle: Socket[] = [];
  readonly #open = new Set<Socket>();

  constructor(port: number) {
    this.#port = port;
  }

  async exchange(request: Bytes): Promise<Outcome> {
    const kept = request.isFramed ? this.#idle.pop() : undefined;
    const outcome = await this.#on(kept ?? this.#connect(), request);
    // The server may have closed an idle connection just now, which is no fault.
    return kept && outcome.kind === "closed" ? this.#on(this.#connect(), request) : outcome;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#open) socket.destroy();
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    this.#open.add(socket);
    socket.once("close", () => {
      this.#open.delete(socket);
      const at = this.#idle.indexOf(socket);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    // The error is handled where an answer is awaited.
    socket.on("error", () => undefined);
    return socket;
  }

  #on(socket: Socket, { bytes, isHead, isFramed, patienceMs, mayLast }: Bytes): Promise<Outcome> {
    const began = performance.now();
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    let came: Buffer = Buffer.alloc(0);
    let parts: Buffer[] = [];
    const end = (outcome: Outcome, keep = false) => {
      clearTimeout(timer);
      socket.off("data", take).off("close", closed).off("error", failed);
      if (keep && this.#idle.length < MOST_IDLE && !socket.destroyed) this.#idle.push(socket);
      else socket.destroy();
      resolve(outcome);
    };
    const answered = (isEnd: boolean): Outcome | undefined => {
      if (parts.length > 1) parts = [Buffer.concat(parts)];
      came = parts[0] ?? came;
      const answer = readAnswer(came, isHead, isEnd);
      return answer && { kind: "answered", answer, ms: performance.now() - began };
    };
    const take = (part: Buffer) => {
      parts.push(part);
      const outcome = answered(false);
      if (outcome?.kind !== "answered") return;
      const isOpen = isFramed && outcome.answer.isWhole && outcome.answer.headers.get("connection") !== "close";
      end(outcome, isOpen && outcome.answer.status !== 101);
    };
    let why = "closed";
    const failed = (error: NodeJS.ErrnoException) => {
      why = error.code ?? error.message;
    };
    const closed = () => end(answered(true) ?? { kind: "closed", why });
    const late = () => {
      // An answer that has begun is judged as far as it arrived.
      const begun = answered(true);
      end(begun ?? (mayLast ? { kind: "let go" } : { kind: "silent", ms: performance.now() - began }));
    };
    const timer = setTimeout(late, patienceMs);
    socket.on("data", take).once("close", closed).once("error", failed);
    socket.write(bytes);
    return promise;
  }
}

/** The first final answer in these bytes. Undefined while it is incomplete, unless no more bytes will come. */
export function readAnswer(bytes: Buffer, isHead: boolean, isEnd: boolean): Answer | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1] ?? 0);
  const body = bytes.subarray(headEnd + 4);
  if (status >= 100 && status < 200 && status !== 101) return readAnswer(body, isHead, isEnd);
  const headers = new Map(lines.map((line) => headerOf(line)));
  const { text, isWhole } = bodyOf(body, headers, isHead || status === 204 || status === 304 || status === 101);
  return isWhole || isEnd ? { status, headers, text: text.toString(), isWhole } : undefined;
}

function headerOf(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [
    line.slice(0, colon).toLowerCase(),
    line
      .slice(colon + 1)
      .trim()
      .toLowerCase(),
  ];
}

function bodyOf(bytes: Buffer, headers: Map<string, string>, isNone: boolean): { text: Buffer; isWhole: boolean } {
  if (isNone) return { text: Buffer.alloc(0), isWhole: true };
  if (headers.get("transfer-encoding") === "chunked") return dechunked(bytes);
  const length = headers.get("content-length");
  if (length === undefined) return { text: bytes, isWhole: false };
  return { text: bytes.subarray(0, Number(length)), isWhole: bytes.length >= Number(length) };
}

function dechunked(bytes: Buffer): { text: Buffer; isWhole: boolean } {
  const pieces: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return { text: Buffer.concat(pieces), isWhole: false };
    const length = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (length === 0) return { text: Buffer.concat(pieces), isWhole: bytes.length >= lineEnd + 4 };
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
    if (at > bytes.length) return { text: Buffer.concat(pieces), isWhole: false };
  }
}
