/** Requests to the API server of Kubernetes, and what its errors mean. */
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request } from "node:https";
import { WebSocket } from "ws";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { DriverAway } from "../../ports/compute/refusal.ts";
import { KubeAccess } from "./kube-access.ts";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface KubeRequest {
  query?: Query;
  body?: unknown;
  /** Of a PATCH. A merge by default. */
  patch?: "merge" | "json";
  signal?: AbortSignal;
}

/** The API server answered, and it was no. */
export class KubeRefused extends Error {
  readonly status: number;
  /** Kubernetes' own word for it, such as `AlreadyExists` or `Forbidden`. */
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/** The API server did not answer, or answered that it cannot do so now. It may help to ask again. */
export class KubeAway extends DriverAway {}

export const isNotFound = (error: unknown) => error instanceof KubeRefused && error.status === 404;
/** It exists already, or has changed since it was read. */
export const isConflict = (error: unknown) => error instanceof KubeRefused && error.status === 409;
/** What was to be continued is too long ago. */
export const isGone = (error: unknown) => error instanceof KubeRefused && error.status === 410;
export const isForbidden = (error: unknown) => error instanceof KubeRefused && error.status === 403;

export function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

const ANSWER_MS = 30_000;
const MOST_TRIES = 4;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
/** A Pod has a few kilobytes, and a list of a thousand some megabytes. */
const LARGEST_ANSWER = 256 * 1_048_576;
const OPEN_MS = 15_000;

/** Statuses after which the same request may succeed. 409 is not one of them: the caller decides. */
const AGAIN = [408, 429, 500, 502, 503, 504];

export class KubeApi {
  readonly #access: KubeAccess;
  readonly #clock: Clock;

  constructor(options: { kubeconfig?: string | undefined; context?: string | undefined; clock: Clock }) {
    this.#access = new KubeAccess(options);
    this.#clock = options.clock;
  }

  /**
   * All requests may be repeated: names are chosen here, so a second creation is a conflict. Throws KubeRefused and KubeAway.
   */
  async call<T>(method: Method, path: string, asked: KubeRequest = {}): Promise<T> {
    for (let tries = 1, pauseMs = FIRST_PAUSE_MS; ; tries++, pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        const response = await this.#send(method, path, asked, ANSWER_MS);
        return JSON.parse(await textOf(response)) as T;
      } catch (error) {
        const again = error instanceof Busy || error instanceof KubeAway;
        if (!again || tries >= MOST_TRIES || asked.signal?.aborted) throw error;
        await sleep(
          this.#clock,
          Math.min((error instanceof Busy ? error.afterMs : undefined) ?? pauseMs, LONGEST_PAUSE_MS),
        );
      }
    }
  }

  /** Returns an answer that goes on. The caller reads or destroys it. */
  stream(path: string, { query, signal }: { query?: Query; signal: AbortSignal }): Promise<IncomingMessage> {
    return this.#send("GET", path, { ...(query && { query }), signal });
  }

  async #send(method: Method, path: string, asked: KubeRequest, limitMs?: number): Promise<IncomingMessage> {
    const { url, agent, headers } = await this.#reach();
    const { query, body, patch = "merge", signal } = asked;
    const target = urlFor(url, path, query);
    const isPlain = url.protocol === "http:";
    const sent = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const type =
        method === "PATCH" ? `application/${patch === "json" ? "json-patch" : "merge-patch"}+json` : "application/json";
      const options = {
        method,
        headers: {
          ...headers,
          accept: "application/json",
          ...(sent !== undefined && { "content-type": type, "content-length": Buffer.byteLength(sent) }),
        },
        ...(!isPlain && { agent }),
        ...(signal && { signal }),
      };
      const asking = (isPlain ? plainRequest : request)(target, options);
      const timer =
        limitMs === undefined
          ? undefined
          : this.#clock.after(limitMs, () => asking.destroy(new Error("no answer in time")));
      asking.on("error", (error) => {
        timer?.cancel();
        reject(
          signal?.aborted
            ? error
            : new KubeAway(`the Kubernetes API does not answer: ${error.message}`, { cause: error }),
        );
      });
      asking.on("response", (response) => {
        response.once("close", () => timer?.cancel());
        if ((response.statusCode ?? 500) < 300) resolve(response);
        else refusalIn(response).then(reject, reject);
      });
      asking.end(sent);
    });
  }

  async #reach() {
    try {
      return await this.#access.find();
    } catch (error) {
      throw new KubeAway((error as Error).message, { cause: error });
    }
  }

  /** Opens a connection of several channels, such as to a program in a Pod. */
  async connect(path: string, query: Query, protocol: string): Promise<WebSocket> {
    const { url, agent, headers } = await this.#reach();
    const target = urlFor(url, path, query);
    target.protocol = target.protocol === "http:" ? "ws:" : "wss:";
    const socket = new WebSocket(target, protocol, {
      headers,
      ...(url.protocol === "https:" && { agent }),
      handshakeTimeout: OPEN_MS,
      perMessageDeflate: false,
    });
    return new Promise((resolve, reject) => {
      socket.once("open", () => {
        // What comes at once is kept until the caller listens and resumes.
        socket.pause();
        // Ignores errors until the caller listens. A close follows each.
        socket.on("error", () => {});
        resolve(socket);
      });
      socket.once("unexpected-response", (_, response: IncomingMessage) => {
        // The refusal is read first: ending the connection is an error of its own.
        floating(
          refusalIn(response).then((refusal) => {
            reject(refusal);
            socket.terminate();
          }),
          reject,
        );
      });
      socket.once("error", (error) =>
        reject(new KubeAway(`the Kubernetes API does not answer: ${error.message}`, { cause: error })),
      );
    });
  }

  [Symbol.dispose](): void {
    this.#access[Symbol.dispose]();
  }
}

/** Asks to wait: too many requests, or a server that starts. */
class Busy extends KubeRefused {
  readonly afterMs: number | undefined;

  constructor(status: number, reason: string, message: string, afterMs: number | undefined) {
    super(status, reason, message);
    this.afterMs = afterMs;
  }
}

async function refusalIn(response: IncomingMessage): Promise<KubeRefused> {
  const status = response.statusCode ?? 500;
  const text = await textOf(response).catch(() => "");
  const { reason, message } = statusIn(text);
  const words = message ?? (text.slice(0, 500).trim() || `status ${status}`);
  if (!AGAIN.includes(status)) return new KubeRefused(status, reason ?? "", words);
  const after = Number(response.headers["retry-after"]);
  return new Busy(status, reason ?? "", words, after > 0 ? after * 1_000 : undefined);
}

function statusIn(text: string): { reason?: string; message?: string } {
  try {
    return JSON.parse(text) as { reason?: string; message?: string };
  } catch {
    return {};
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_ANSWER) throw new KubeAway("an answer of the Kubernetes API is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** A cluster may be below a path of its server. */
function urlFor(base: URL, path: string, query: Query = {}): URL {
  const url = new URL(base);
  url.pathname = url.pathname.replace(/\/$/, "") + path;
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) url.searchParams.append(name, String(one));
  return url;
}
