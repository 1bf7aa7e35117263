/** Passes the head of a worker's answer to the caller if HTTP allows it, and otherwise refuses with what was wrong. */
import type { ServerResponse } from "node:http";
import { shownPhrase, writeHead } from "../http/head.ts";
import { linesOf, type PassedLines, PlainResponse, passedLines } from "../http/plain-exchange.ts";
import type { Form } from "./address.ts";
import { isReplaced, type KeptHeaders, keptHeaders, type RawHeaders, responseHeaders } from "./headers.ts";
import { odd, type Receiver, tooMuch } from "./receiver.ts";

/** The most interim responses before an answer (RFC 9110, 15.2). None of them is passed on. */
const INTERIM_AT_MOST = 20;
const SWITCHING = 101;
const NO_CONTENT = 204;

export interface Answered {
  status: number;
  phrase: string | undefined;
  headers: RawHeaders;
  /** The transfer encoding as sent. */
  coding: string | undefined;
  /** The announced length, or 0. */
  length: number;
  /** What was made of it before, if it is repeated. */
  made?: object | undefined;
}

export interface AnswerTo {
  response: ServerResponse;
  receiver: Receiver;
  form: Form;
  /** Headers that Millrace adds to the answer. */
  own: Record<string, unknown>;
}

/** If it throws the refusal, nothing has been written. */
export function beginAnswer({ response, receiver, form, own }: AnswerTo, answered: Answered): void {
  const { status, coding, length } = answered;
  if (status < 200 || status > 599) throw odd(receiver, `its status is ${status}`);
  // Only chunked bodies are decoded here, and this header is not passed on. A body in another encoding would reach the caller unreadable.
  if (coding !== undefined && !/^chunked$/i.test(coding)) throw odd(receiver, "its transfer encoding is unknown");
  if (length > receiver.limits.bodyBytes && response.req.method !== "HEAD") throw tooMuch(receiver);
  try {
    if (response instanceof PlainResponse) beginPlainly(response, form, own, answered);
    else beginByNode(response, form, own, answered);
  } catch (error) {
    throw odd(receiver, (error as Error).message, error);
  }
}

function beginByNode(response: ServerResponse, form: Form, own: AnswerTo["own"], answered: Answered): void {
  const { status, phrase, headers } = answered;
  const kept = responseHeaders(headers, form, own);
  writeHead(response, status, status === NO_CONTENT ? withoutLength(kept) : kept, phrase);
}

/** A worker's head as it is passed on. */
class PassedHead {
  readonly form: Form;
  readonly filtered: KeptHeaders;
  readonly phrase: string;
  readonly lines: PassedLines;

  constructor(form: Form, { status, phrase, headers }: Answered) {
    this.form = form;
    this.filtered = keptHeaders(headers, form);
    this.phrase = shownPhrase(phrase);
    const { kept } = this.filtered;
    this.lines = passedLines(status === NO_CONTENT ? withoutLength(kept) : kept);
  }
}

/** A head that is repeated is not filtered and checked again. */
function passedHead(form: Form, answered: Answered): PassedHead {
  const { made } = answered;
  if (made instanceof PassedHead && made.form === form) return made;
  const passed = new PassedHead(form, answered);
  answered.made = passed;
  return passed;
}

function beginPlainly(response: PlainResponse, form: Form, own: AnswerTo["own"], answered: Answered): void {
  const { filtered, phrase, lines } = passedHead(form, answered);
  let ours = "";
  for (const name in own) if (!isReplaced(name, filtered)) ours += linesOf(name, String(own[name]));
  response.passHead(answered.status, lines, phrase, ours);
}

/** Counts interim responses. Throws at one that no request of ours can get, and when there are too many. */
export function passOver(receiver: Receiver, status: number, before: number): void {
  if (status < 100 || status === SWITCHING) throw odd(receiver, `its status is ${status}`);
  if (before > INTERIM_AT_MOST) throw odd(receiver, "it does not get beyond what comes before an answer");
}

function withoutLength(headers: RawHeaders): RawHeaders {
  const isLength = (index: number) => headers[index]!.toLowerCase() === "content-length";
  return headers.filter((_, index) => !isLength(index - (index % 2)));
}
