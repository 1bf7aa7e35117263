/** One HTTP request by Node's own client, which starts in a third of the time that `fetch` takes. */
import type * as Http from "node:http";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { EXIT, Failure } from "./failure.ts";

export interface Sent {
  method?: string;
  headers?: Record<string, string | number>;
  /** A stream is sent as it comes. Its length has to be in the headers. */
  body?: string | Readable | undefined;
  signal?: AbortSignal | undefined;
  /** A server that says nothing for so long has failed. 0: it may be silent for ever. */
  silenceMs?: number;
}

export interface Received {
  status: number;
  headers: IncomingHttpHeaders;
  body: IncomingMessage;
}

const SILENCE_MS = 60_000;
/** No answer that is read into memory is longer. */
const LONGEST_ANSWER = 256 * 1024 * 1024;

export async function request(url: URL, sent: Sent): Promise<Received> {
  const { request: open } = moduleFor(url);
  const { method = "GET", headers = {}, body, signal, silenceMs = SILENCE_MS } = sent;
  const options: RequestOptions = { method, headers, ...(signal && { signal }), timeout: silenceMs };
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const asked = open(url, options, (answer) =>
    resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer }),
  );
  asked.on("error", (error) => reject(signal?.aborted ? error : unreachable(url, error)));
  asked.on("timeout", () => asked.destroy(silent(url, silenceMs)));
  if (body === undefined || typeof body === "string") asked.end(body);
  else sendStream(body, asked, reject);
  return await promise;
}

/** An import of `node:http` reads all that it exports, which loads a second HTTP client: it took as long as everything else that a verb does. */
const moduleFor = ({ protocol }: URL) =>
  process.getBuiltinModule(protocol === "https:" ? "node:https" : "node:http") as typeof Http;

/** A server may refuse a body before all of it was sent. Then its answer counts, and not the broken pipe. */
function sendStream(body: Readable, asked: ClientRequest, reject: (error: Error) => void): void {
  let isAnswered = false;
  asked.once("response", () => {
    isAnswered = true;
  });
  pipeline(body, asked).catch((error: Error) => {
    if (!isAnswered)
      reject(error instanceof Failure ? error : new Failure(error.message, EXIT.failed, { cause: error }));
  });
}

export async function textOf({ body }: Received, longest = LONGEST_ANSWER): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > longest) throw new Failure(`the answer is longer than ${longest} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

const silent = ({ origin }: URL, ms: number) =>
  new Failure(`${origin} did not answer within ${ms / 1000} s. Try again, or look at the server's log.`, EXIT.waited);

function unreachable({ origin, protocol }: URL, error: Error): Failure {
  if (error instanceof Failure) return error;
  const { code = error.message } = error as NodeJS.ErrnoException;
  const hint = HINTS[code] ?? (protocol === "https:" && /SSL|TLS|CERT|EPROTO/.test(code) ? TLS_HINT : GENERAL_HINT);
  return new Failure(`${origin} is not reachable (${code}). ${hint}`, EXIT.failed, { cause: error });
}

const GENERAL_HINT = "Check the address and the network.";
const TLS_HINT = "Check its certificate, or use http:// if the server speaks no TLS.";
const HINTS: Record<string, string> = {
  ECONNREFUSED: "No server listens there: start one with 'millrace serve', or name another address by --url.",
  ENOTFOUND: "There is no such host: check the address.",
  EAI_AGAIN: "The name could not be looked up: check the network.",
};
