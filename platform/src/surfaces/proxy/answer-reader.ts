/** Reads answers from the bytes of a connection to a worker: it parses the head, and finds the end of the body. */
import { MIB } from "../../kernel/operation.ts";
import { type AnswerHead, type Framing, notHttp, parseAnswerHead } from "./answer-head.ts";

/** Receives an answer. An error that it throws ends the connection. */
export interface Answers {
  /** Reports an interim response, such as 100. */
  interim(status: number): void;
  /** Reports the head. The reader itself knows which statuses have no body. */
  head(head: AnswerHead): void;
  /** Reports bytes of the body, from `from` up to `to`. There may be none when `isLast` is set. */
  body(chunk: Buffer, from: number, to: number, isLast: boolean): void;
}

/** The longest head, and the longest trailer after a body. */
const LARGEST_HEAD = 64 * 1024;
/** The longest line with a chunk's size and its extensions. Only its beginning is kept. */
const LONGEST_LINE = 2 * MIB;
const KEPT_OF_LINE = 64;
const FIRST_PIECE = 4 * 1024;

const HEAD_END = Buffer.from("\r\n\r\n");
const BEGINNING = "HTTP/";
const NOTHING = Buffer.alloc(0);
const CR = 0x0d;
const LF = 0x0a;
const SIZE = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i;

type State = "idle" | "head" | "length" | "size" | "chunk" | "chunk-end" | "trailer" | "end" | "over";

const BODY_OF: Record<Framing, State> = { length: "length", chunks: "size", end: "end" };

export class AnswerReader {
  #answers: Answers | undefined;
  #answersHead = false;
  #state: State = "idle";
  #isLasting = false;
  /** Answers to similar requests often have exactly the same head, so the last one is reused. */
  #lastText: string | undefined;
  #lastHead: AnswerHead | undefined;
  /** How many bytes of the body, or of the current chunk, are still to come. */
  #left = 0;
  /** The part of an incomplete head that has arrived. */
  #early = NOTHING;
  #earlyLength = 0;
  /** The beginning of a line between chunks, how much of the line has arrived, and whether only its last byte is missing. */
  #line = "";
  #lineLength = 0;
  #lineIsEnding = false;
  /** How many bytes have arrived after the last chunk. */
  #trailing = 0;

  /** Begins an answer. An answer to HEAD has only a head. */
  begin(answers: Answers, method: string | undefined): void {
    this.#answers = answers;
    this.#answersHead = method === "HEAD";
    this.#state = "head";
  }

  /** Whether an answer is awaited or in progress. */
  get isReading(): boolean {
    return this.#state !== "idle" && this.#state !== "over";
  }

  get isOver(): boolean {
    return this.#state === "over";
  }

  /**
   * Whether the bytes ended with the answer and the worker keeps the connection. Not after HEAD, since some servers wrongly send a body
   * then.
   */
  get isReusable(): boolean {
    return this.#state === "over" && this.#isLasting && !this.#answersHead;
  }

  /** Prepares for the next answer. */
  rest(): void {
    this.#answers = undefined;
    this.#state = "idle";
  }

  /** Throws if the bytes are not HTTP. Errors of the receiver pass through. */
  take(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && this.#state !== "over") at = this.#step(chunk, at);
    if (at < chunk.length) this.#isLasting = false;
  }

  /** The worker has ended the connection. Returns false if that was in the middle of an answer. */
  end(): boolean {
    if (this.#state !== "end") return false;
    this.#finish(NOTHING, 0, 0);
    return true;
  }

  #step(chunk: Buffer, at: number): number {
    switch (this.#state) {
      case "head":
        return this.#head(chunk, at);
      case "length":
        return this.#length(chunk, at);
      case "chunk":
        return this.#chunk(chunk, at);
      case "end":
        this.#answers!.body(chunk, at, chunk.length, false);
        return chunk.length;
      default:
        return this.#between(chunk, at);
    }
  }

  #head(chunk: Buffer, at: number): number {
    if (this.#earlyLength > 0) return this.#restOfHead(chunk, at);
    const end = chunk.indexOf(HEAD_END, at);
    if (end < 0) return this.#keepEarly(chunk, at);
    if (end - at > LARGEST_HEAD) throw tooLong();
    this.#parse(chunk.toString("latin1", at, end));
    return end + HEAD_END.length;
  }

  #restOfHead(chunk: Buffer, at: number): number {
    const before = this.#earlyLength;
    this.#keepEarly(chunk, at);
    const came = this.#early.subarray(0, this.#earlyLength);
    const end = came.indexOf(HEAD_END, Math.max(0, before - HEAD_END.length + 1));
    if (end > LARGEST_HEAD || (end < 0 && came.length > LARGEST_HEAD)) throw tooLong();
    if (end < 0) return chunk.length;
    this.#early = NOTHING;
    this.#earlyLength = 0;
    this.#parse(came.toString("latin1", 0, end));
    return at + end + HEAD_END.length - before;
  }

  /** Collects the head in a buffer that doubles. Copying it again for each of many small pieces would let a worker keep the server busy. */
  #keepEarly(chunk: Buffer, at: number): number {
    const length = this.#earlyLength + chunk.length - at;
    if (length > this.#early.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_PIECE, length, this.#early.length * 2));
      this.#early.copy(grown, 0, 0, this.#earlyLength);
      this.#early = grown;
    }
    chunk.copy(this.#early, this.#earlyLength, at);
    this.#earlyLength = length;
    // A worker with another protocol may wait for us while we wait for it. So the first bytes are checked at once.
    const beginning = this.#early.toString("latin1", 0, Math.min(length, BEGINNING.length));
    if (!BEGINNING.startsWith(beginning)) throw notHttp("it does not begin with HTTP/1.1");
    return chunk.length;
  }

  #parse(text: string): void {
    const head = text === this.#lastText ? this.#lastHead! : parseAnswerHead(text);
    this.#lastText = text;
    this.#lastHead = head;
    const { status, framing, length } = head;
    if (status < 200) {
      this.#answers!.interim(status);
      return;
    }
    const isEmpty = this.#answersHead || status === 204 || status === 304 || (framing === "length" && length === 0);
    this.#isLasting = head.isLasting && (isEmpty || framing !== "end");
    this.#left = length;
    this.#state = isEmpty ? "over" : BODY_OF[framing];
    this.#answers!.head(head);
    if (isEmpty) this.#answers!.body(NOTHING, 0, 0, true);
  }

  #length(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#finish(chunk, at, end);
    else this.#answers!.body(chunk, at, end, false);
    return end;
  }

  #chunk(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = "chunk-end";
    this.#answers!.body(chunk, at, end, false);
    return end;
  }

  /** Reads the lines between chunks. Chunk extensions are ignored and not kept. */
  #between(chunk: Buffer, at: number): number {
    if (this.#lineIsEnding) return this.#endOfLine(chunk, at);
    const end = chunk.indexOf(CR, at);
    const stop = end < 0 ? chunk.length : end;
    const feed = chunk.indexOf(LF, at);
    if (feed >= 0 && feed < stop) throw notHttp("a line between its chunks ends too early");
    if (this.#lineLength < KEPT_OF_LINE) this.#line += chunk.toString("latin1", at, Math.min(stop, at + KEPT_OF_LINE));
    this.#lineLength += stop - at;
    this.#trailing += stop - at;
    if (this.#lineLength > LONGEST_LINE || (this.#state === "trailer" && this.#trailing > LARGEST_HEAD))
      throw notHttp("what stands between its chunks is too long");
    if (end < 0) return stop;
    this.#lineIsEnding = true;
    return end + 1;
  }

  #endOfLine(chunk: Buffer, at: number): number {
    if (chunk[at] !== LF) throw notHttp("a line between its chunks does not end");
    const [line, length] = [this.#line, this.#lineLength];
    this.#line = "";
    this.#lineLength = 0;
    this.#lineIsEnding = false;
    this.#sawLine(line, length);
    return at + 1;
  }

  #sawLine(line: string, length: number): void {
    if (this.#state === "trailer") {
      if (length === 0) this.#finish(NOTHING, 0, 0);
    } else if (this.#state === "chunk-end") {
      if (length > 0) throw notHttp("a chunk is longer than it says");
      this.#state = "size";
    } else {
      this.#left = sizeIn(line, length);
      this.#trailing = 0;
      this.#state = this.#left === 0 ? "trailer" : "chunk";
    }
  }

  #finish(chunk: Buffer, from: number, to: number): void {
    this.#state = "over";
    this.#answers!.body(chunk, from, to, true);
  }
}

function sizeIn(line: string, length: number): number {
  const size = SIZE.exec(line)?.[1];
  if (size === undefined || (length > line.length && !line.includes(";")))
    throw notHttp("a chunk does not say how long it is");
  return Number.parseInt(size, 16);
}

const tooLong = () => notHttp(`its head is longer than ${LARGEST_HEAD} bytes`);
