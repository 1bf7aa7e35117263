/** Passes the head of a worker's answer to the caller if HTTP allows it, and otherwise refuses with what was wrong. */
import type { ServerResponse } from "node:http";
import { writeHead } from "../http/head.ts";
import type { Form } from "./address.ts";
import { type RawHeaders, responseHeaders } from "./headers.ts";
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
  const { status, phrase, headers, coding, length } = answered;
  if (status < 200 || status > 599) throw odd(receiver, `its status is ${status}`);
  // Only chunked bodies are decoded here, and this header is not passed on. A body in another encoding would reach the caller unreadable.
  if (coding !== undefined && !/^chunked$/i.test(coding)) throw odd(receiver, "its transfer encoding is unknown");
  if (length > receiver.limits.bodyBytes && response.req.method !== "HEAD") throw tooMuch(receiver);
  const kept = responseHeaders(headers, form, own);
  try {
    writeHead(response, status, status === NO_CONTENT ? withoutLength(kept) : kept, phrase);
  } catch (error) {
    throw odd(receiver, (error as Error).message, error);
  }
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
