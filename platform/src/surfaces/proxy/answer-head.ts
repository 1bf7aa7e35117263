/** Parses the head of a worker's answer: its parts and where its body ends, or why it is invalid. */
import type { RawHeaders } from "./headers.ts";

/** The body ends by its length, by its last chunk, or with the connection. */
export type Framing = "length" | "chunks" | "end";

export interface AnswerHead {
  status: number;
  phrase: string;
  headers: RawHeaders;
  framing: Framing;
  /** The announced length, or 0. */
  length: number;
  /** The transfer encoding as sent. */
  coding: string | undefined;
  /** Whether the connection can be used again. For HTTP/1.0 it cannot. */
  isLasting: boolean;
  /** What was made of it for a caller. A worker that repeats its head brings the same object again. */
  made: object | undefined;
}

/** Servers announce after how many seconds they close an idle connection. A connection that may close while in use is not kept. */
const SHORTEST_KEPT_S = 3;
/** 15 digits stay below the largest exact number. */
const LENGTH = /^\d{1,15}$/;

/**
 * `text` is everything before the empty line. The code that writes names and values checks them; this checks what decides where the body
 * ends.
 */
export function parseAnswerHead(text: string): AnswerHead {
  const lineEnd = endOfLine(text, 0);
  const minor = minorVersion(text);
  const head: AnswerHead = {
    status: statusIn(text, lineEnd),
    phrase: text.slice(STATUS_END + 1, lineEnd),
    headers: [],
    framing: "end",
    length: 0,
    coding: undefined,
    isLasting: minor === 1,
    made: undefined,
  };
  for (let at = lineEnd + 2; at < text.length; ) {
    const end = endOfLine(text, at);
    const colon = text.indexOf(":", at);
    if (colon < 0 || colon >= end) throw notHttp("a header has no colon");
    const name = text.slice(at, colon);
    const value = trimmed(text, colon + 1, end);
    head.headers.push(name, value);
    note(head, name, value);
    at = end + 2;
  }
  return head;
}

export const notHttp = (what: string) => new Error(`its answer is not HTTP: ${what}`);

const VERSION = "HTTP/1.";
const STATUS_AT = "HTTP/1.1 ".length;
const STATUS_END = STATUS_AT + 3;
const [ZERO, NINE, SPACE, TAB] = [0x30, 0x39, 0x20, 0x09];

function minorVersion(text: string): number {
  const minor = text.charCodeAt(VERSION.length) - ZERO;
  const isKnown = text.startsWith(VERSION) && (minor === 0 || minor === 1);
  if (!isKnown || text.charCodeAt(STATUS_AT - 1) !== SPACE) throw notHttp("it does not begin with HTTP/1.1");
  return minor;
}

function statusIn(text: string, lineEnd: number): number {
  let status = 0;
  for (let at = STATUS_AT; at < STATUS_END; at++) {
    const digit = text.charCodeAt(at);
    if (!(digit >= ZERO && digit <= NINE)) throw notHttp("its status is no number of three digits");
    status = status * 10 + digit - ZERO;
  }
  if (lineEnd !== STATUS_END && text.charCodeAt(STATUS_END) !== SPACE)
    throw notHttp("its status is no number of three digits");
  return status;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf("\r\n", from);
  return end < 0 ? text.length : end;
}

function trimmed(text: string, start: number, stop: number): string {
  let [from, to] = [start, stop];
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

const isBlank = (code: number) => code === SPACE || code === TAB;

/**
 * Reads the headers that decide where the body ends and whether the connection does. Comparing lengths first rules out most other names.
 */
function note(head: AnswerHead, name: string, value: string): void {
  switch (name.length) {
    case CONTENT_LENGTH.length:
      if (name.toLowerCase() === CONTENT_LENGTH) noteLength(head, value);
      break;
    case TRANSFER_ENCODING.length:
      if (name.toLowerCase() === TRANSFER_ENCODING) noteCoding(head, value);
      break;
    case CONNECTION.length:
      noteConnection(head, name.toLowerCase(), value);
      break;
  }
}

function noteLength(head: AnswerHead, value: string): void {
  if (head.framing !== "end") throw notHttp("it says more than once where it ends");
  if (!LENGTH.test(value)) throw notHttp("its length is no number");
  head.framing = "length";
  head.length = Number(value);
}

function noteCoding(head: AnswerHead, value: string): void {
  if (head.framing === "length") throw notHttp("it says more than once where it ends");
  head.framing = "chunks";
  head.coding = head.coding === undefined ? value : `${head.coding}, ${value}`;
}

function noteConnection(head: AnswerHead, name: string, value: string): void {
  if (name === CONNECTION) {
    if (!isKept(value)) head.isLasting = false;
  } else if (name === KEEP_ALIVE) {
    const seconds = /timeout=(\d+)/i.exec(value)?.[1];
    if (seconds !== undefined && Number(seconds) < SHORTEST_KEPT_S) head.isLasting = false;
  }
}

const isKept = (words: string) => words === KEEP_ALIVE || !/close|upgrade/i.test(words);

const CONTENT_LENGTH = "content-length";
const TRANSFER_ENCODING = "transfer-encoding";
const CONNECTION = "connection";
const KEEP_ALIVE = "keep-alive";
