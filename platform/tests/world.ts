/** A whole server in one process for surface tests: real sockets, everything behind them fake and repeatable. */
import { connect } from "node:net";
import { type App, createApp, openServices, type Services } from "../src/app.ts";
import type { Log } from "../src/kernel/log.ts";
import { SeededRandom } from "../src/kernel/random.ts";
import type { Grant } from "../src/kernel/scope.ts";
import { MemoryLimits } from "../src/ports/limits/memory-limits.ts";
import { MemoryLogs } from "../src/ports/logs/memory-logs.ts";
import { MemoryQueue } from "../src/ports/queue/memory-queue.ts";
import { MemorySignals } from "../src/ports/signals/memory-signals.ts";
import { MemoryStore } from "../src/ports/store/memory-store.ts";
import type { Store, StoredRecord, Write } from "../src/ports/store/store.ts";
import { EnvelopeVault } from "../src/ports/vault/envelope-vault.ts";
import type { Owner } from "../src/resources/account/accounts.ts";
import { WatchedClock } from "./watched-clock.ts";

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
  json: any;
}

export interface CallOptions {
  /** A key's text; `null` sends no Authorization header. Default: a key of the first account that may do everything. */
  key?: string | null;
  /** Text and bytes are sent as they are, anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  /** The client hangs up when this aborts. */
  signal?: AbortSignal;
}

export interface KeyOptions {
  scopes?: Grant[];
  endpoints?: string[];
  exempt?: boolean;
  expiresAt?: number;
  of?: Owner;
}

export interface World extends AsyncDisposable {
  url: string;
  app: App;
  clock: WatchedClock;
  store: Store;
  queue: MemoryQueue;
  signals: MemorySignals;
  logs: MemoryLogs;
  services: Services;
  owner: Owner;
  /** The default key of `call`. */
  key: string;
  /** Every line logged so far, as text. */
  logged: string[];
  newKey(options?: KeyOptions): Promise<string>;
  /** A key of another account that may do everything there. */
  strangersKey(): Promise<string>;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Sends these very bytes on a socket of their own; resolves with all that came back once the server closed it. */
  raw(request: string): Promise<string>;
}

export async function setup({
  store = new MemoryStore() as Store,
  rateLimits = "600,18000,200000",
  publicUrl = "https://millrace.test",
} = {}): Promise<World> {
  const clock = new WatchedClock();
  const random = new SeededRandom(1);
  const { log, logged } = recordingLog();
  const vault = new EnvelopeVault([random.bytes(32)], random);
  const queue = new MemoryQueue(clock);
  const signals = new MemorySignals();
  const logs = new MemoryLogs();
  const services = await openServices({ store, vault, clock, random, publicUrl: () => publicUrl });
  const owner = await services.accounts.firstOwner();
  const limits = new MemoryLimits();
  const parts = { store, limits, vault, queue, signals, logs, clock, random, log };
  const app = createApp(parts, services, { rateLimits, logDays: 7, stream: "array", webhookPrivate: "allow" });
  const url = await app.http.listen({ port: 0, host: "127.0.0.1" });

  async function newKey({ of = owner, scopes = ["all"], ...rest }: KeyOptions = {}): Promise<string> {
    return (await services.account.issueKey(of, { scopes, ...rest })).key;
  }

  const key = await newKey();
  return {
    url,
    app,
    clock,
    store,
    queue,
    signals,
    logs,
    services,
    owner,
    key,
    logged,
    newKey,
    strangersKey: async () => newKey({ of: await services.accounts.create("stranger", "s@localhost") }),
    call: (method, path, options) => call(url, method, path, { key, ...options }),
    raw: (request) => raw(Number(new URL(url).port), request),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

export async function call(
  url: string,
  method: string,
  path: string,
  { key, body, headers, signal }: CallOptions,
): Promise<Answer> {
  const sent: Record<string, string> = {};
  if (key) sent.authorization = `Bearer ${key}`;
  if (body !== undefined) sent["content-type"] = "application/json";
  const asItIs = body === undefined || typeof body === "string" || body instanceof Uint8Array;
  const response = await fetch(url + path, {
    method,
    headers: { ...sent, ...headers },
    signal,
    body: asItIs ? (body as string | undefined) : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "") && text !== "";
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

function raw(port: number, request: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let received = "";
  const socket = connect(port, "127.0.0.1", () => socket.write(request));
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    received += chunk;
  });
  socket.once("error", reject);
  socket.once("close", () => resolve(received));
  return promise;
}

function recordingLog(): { log: Log; logged: string[] } {
  const logged: string[] = [];
  const write = (fields: object, message: string) => void logged.push(JSON.stringify({ message, ...fields }, spellOut));
  return { log: { info: write, warn: write, error: write }, logged };
}

/** Errors have nothing that JSON would show; a log shows their message, stack and cause. */
function spellOut(_key: string, value: unknown): unknown {
  return value instanceof Error ? { message: value.message, stack: value.stack, cause: value.cause } : value;
}

/** A store whose next commits can be met by a test: to fail them, or to let something else happen first. */
export class InterceptedStore extends MemoryStore {
  beforeCommit: (writes: Write[]) => Promise<void> | void = () => {};

  override async commit(writes: Write[]): Promise<StoredRecord[]> {
    await this.beforeCommit(writes);
    return super.commit(writes);
  }
}
