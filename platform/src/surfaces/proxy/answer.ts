/** The head of an answer that was passed back, as its caller gets it: what HTTP allows, or else a refusal that says what was wrong with it. */
import type { ServerResponse } from "node:http";
import { writeHead } from "../http/head.ts";
import type { Form } from "./address.ts";
import { type RawHeaders, responseHeaders } from "./headers.ts";
import { odd, type Receiver, tooMuch } from "./receiver.ts";

/** Of what may come before an answer (RFC 9110, 15.2); none of it is passed on. */
const INTERIM_AT_MOST = 20;
const SWITCHING = 101;
const NO_CONTENT = 204;

export interface Answered {
  status: number;
  phrase: string | undefined;
  headers: RawHeaders;
  /** The transfer encoding, as it was sent. */
  coding: string | undefined;
  /** The announced length; 0 where nothing is announced. */
  length: number;
}

export interface AnswerTo {
  response: ServerResponse;
  receiver: Receiver;
  form: Form;
  /** Headers of ours for the answer. */
  own: Record<string, unknown>;
}

/** Throws the refusal, and then nothing has been written. */
export function beginAnswer({ response, receiver, form, own }: AnswerTo, answered: Answered): void {
  const { status, phrase, headers, coding, length } = answered;
  if (status < 200 || status > 599) throw odd(receiver, `its status is ${status}`);
  // Whoever takes one off must have read the body by it: what is left is nobody's body.
  if (coding !== undefined && !/^chunked$/i.test(coding)) throw odd(receiver, "its transfer encoding is unknown");
  if (length > receiver.limits.bodyBytes && response.req.method !== "HEAD") throw tooMuch(receiver);
  const kept = responseHeaders(headers, form, own);
  try {
    writeHead(response, status, status === NO_CONTENT ? withoutLength(kept) : kept, phrase);
  } catch (error) {
    throw odd(receiver, (error as Error).message, error);
  }
}

/** Counts what comes before an answer, and throws when that is what no request of ours could be told, or too much. */
export function passOver(receiver: Receiver, status: number, before: number): void {
  if (status < 100 || status === SWITCHING) throw odd(receiver, `its status is ${status}`);
  if (before > INTERIM_AT_MOST) throw odd(receiver, "it does not get beyond what comes before an answer");
}

function withoutLength(headers: RawHeaders): RawHeaders {
  const isLength = (index: number) => headers[index]!.toLowerCase() === "content-length";
  return headers.filter((_, index) => !isLength(index - (index % 2)));
}
