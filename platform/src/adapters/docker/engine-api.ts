/** The Engine API of Docker and Podman over a socket. Each request ends in an answer or an error, even when the engine dies. */
import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { Socket } from "node:net";
import { DriverAway } from "../../ports/compute/refusal.ts";

/** The engine answered, and refused. */
export class EngineRefused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The engine did not answer, or broke off its answer. */
export class EngineAway extends DriverAway {
  /** There is no socket, so no engine may ever have been there. */
  get isNowhere(): boolean {
    return (this.cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
  }
}

type Query = Readonly<Record<string, string | number | boolean | object | undefined>>;

export interface Call {
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** An engine that is silent for this long is away. Without it, the answer may take any time. */
  answerMs?: number | undefined;
}

/** An engine that hangs must not hold up those who only look. What changes something may take long, such as an end or a removal. */
const LOOK_MS = 30_000;
/** A start takes minutes where the engine copies a large image for it. One that hangs must not keep the turns of others for ever. */
export const START_MS = 600_000;

export class EngineApi {
  /** `/path/of.sock`, `unix:///path/of.sock` or `tcp://host:port`. */
  readonly address: string;
  readonly #target: RequestOptions;

  constructor(address: string) {
    this.address = address;
    this.#target = targetOf(address);
  }

  /** The answer, parsed as JSON unless it is empty. */
  async call<T = void>(method: string, path: string, call: Call = {}): Promise<T> {
    const answerMs = method === "GET" ? LOOK_MS : undefined;
    const response = await this.stream(method, path, { answerMs, ...call });
    const text = await this.#textOf(response);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** Upgrades the connection from HTTP to a raw stream that belongs to the program. */
  async upgrade(method: string, path: string, body: unknown): Promise<Socket> {
    const text = JSON.stringify(body);
    const headers = { "content-type": "application/json", connection: "Upgrade", upgrade: "tcp" };
    const { promise, resolve, reject } = Promise.withResolvers<Socket | IncomingMessage>();
    const asked = request({ ...this.#target, method, path, agent: false, headers });
    asked.once("upgrade", (_, socket, head) => {
      if (head.length > 0) socket.unshift(head);
      resolve(socket as Socket);
    });
    asked.once("response", resolve);
    asked.once("error", (error) => reject(this.#away(error)));
    asked.end(text);
    const answer = await promise;
    if (answer instanceof Socket) return answer;
    throw new EngineRefused(answer.statusCode!, messageIn(await this.#textOf(answer)));
  }

  /** The answer as a stream. The caller reads it to its end or destroys it. */
  async stream(
    method: string,
    path: string,
    { query = {}, body, headers, signal, answerMs }: Call = {},
  ): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request({
        ...this.#target,
        method,
        path: path + queryText(query),
        // Each request has a connection of its own. A kept connection would fail after a restart of the engine, and a new one on a local
        // socket costs nothing.
        agent: false,
        headers: { ...headers, ...(text !== undefined && { "content-type": "application/json" }) },
        ...(signal && { signal }),
        ...(answerMs !== undefined && { timeout: answerMs }),
      });
      asked.once("response", resolve);
      asked.once("timeout", () => asked.destroy(new Error(`no answer within ${answerMs! / 1000} s`)));
      asked.once("error", (error) => reject(this.#away(error)));
      asked.end(text);
    });
    const status = response.statusCode!;
    if (status < 400) return response;
    throw new EngineRefused(status, messageIn(await this.#textOf(response)));
  }

  async #textOf(response: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    try {
      // Unlike 'end' and 'error' listeners, the iteration also ends when the connection breaks in the middle of an answer.
      for await (const chunk of response) chunks.push(chunk as Buffer);
    } catch (error) {
      throw this.#away(error as Error);
    }
    return Buffer.concat(chunks).toString();
  }

  #away(error: Error): Error {
    if (error.name === "AbortError") return error;
    return new EngineAway(`the container engine at ${this.address} does not answer: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** The lines of an answer as they arrive. Throws when the connection breaks; readline would wait for ever. */
export async function* linesIn(response: IncomingMessage): AsyncGenerator<string> {
  let rest = "";
  try {
    for await (const text of response.setEncoding("utf8")) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      yield* lines.map((line) => line.trimEnd()).filter((line) => line !== "");
    }
  } catch (error) {
    throw new EngineAway(`the container engine broke off its answer: ${reasonOf(error as Error)}`, { cause: error });
  }
  if (rest.trim() !== "") yield rest;
}

function targetOf(address: string): RequestOptions {
  if (address.startsWith("/")) return { socketPath: address };
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === "unix:") return { socketPath: url.pathname };
  if (url?.protocol === "tcp:" || url?.protocol === "http:") return { host: url.hostname, port: url.port || 2375 };
  throw new Error(
    `'${address}' is no address of a container engine: /path/of.sock, unix:///path/of.sock or tcp://host:port`,
  );
}

function queryText(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = given.map(([name, value]) => {
    const written = typeof value === "object" ? JSON.stringify(value) : String(value);
    return `${name}=${encodeURIComponent(written)}`;
  });
  return text.length === 0 ? "" : `?${text.join("&")}`;
}

function messageIn(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text;
  } catch {
    return text.trim();
  }
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === "EACCES") return "this user may not open its socket; Docker gives access to the group 'docker'";
  if (error.code === "ENOENT") return "there is no such socket";
  if (error.code === "ECONNREFUSED") return "nobody listens there";
  return error.message;
}

/** Podman answers 500 for a container that is being removed. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof EngineRefused && (error.status === 404 || /no such container/i.test(error.message));
/** The container is already in the requested state, or another request is bringing it there. */
export const isConflict = (error: unknown): boolean => error instanceof EngineRefused && error.status === 409;
