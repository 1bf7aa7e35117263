/** A whole server in one process for surface tests: the sockets are real, everything behind them is fake and repeatable. */

import { EnvelopeVault } from "../src/adapters/crypto/envelope-vault.ts";
import { createPost } from "../src/adapters/http/webhook-post.ts";
import { type App, type AppParts, type AppSettings, createApp } from "../src/composition/app.ts";
import { openBooks, type Services } from "../src/composition/services.ts";
import { parseInvokeLimits } from "../src/guards/invoke-policy.ts";
import type { Answered } from "../src/guards/perform.ts";
import { parsePolicy } from "../src/guards/rate-policy.ts";
import { parsePayloadLimits } from "../src/jobs/payload-limits.ts";
import { parseRetention } from "../src/jobs/retention.ts";
import { BodyMemory } from "../src/kernel/body-memory.ts";
import type { Clock } from "../src/kernel/clock.ts";
import { failedTo } from "../src/kernel/failed.ts";
import type { Log } from "../src/kernel/log.ts";
import { parseOrigins } from "../src/kernel/origins.ts";
import { SeededRandom } from "../src/kernel/random.ts";
import type { Grant } from "../src/kernel/scope.ts";
import type { Tracing } from "../src/kernel/tracing.ts";
import type { Compute } from "../src/ports/compute/compute.ts";
import { MemoryLimits } from "../src/ports/limits/memory-limits.ts";
import type { ListingSource } from "../src/ports/listings/listings.ts";
import { MemoryListings } from "../src/ports/listings/memory-listings.ts";
import type { Logs } from "../src/ports/logs/logs.ts";
import { MemoryLogs } from "../src/ports/logs/memory-logs.ts";
import { FakePasswords } from "../src/ports/passwords/fake-passwords.ts";
import { MemoryQueue } from "../src/ports/queue/memory-queue.ts";
import { MemorySignals } from "../src/ports/signals/memory-signals.ts";
import type { Signals } from "../src/ports/signals/signals.ts";
import { MemoryStore } from "../src/ports/store/memory-store.ts";
import type { Listing, Store, StoredRecord, UniqueKey, Write } from "../src/ports/store/store.ts";
import type { Owner } from "../src/resources/account/accounts.ts";
import type { Quotas } from "../src/resources/account/quotas.ts";
import type { RefusesImage } from "../src/resources/endpoints/images.ts";
import type { SignOn } from "../src/resources/people/provider-sign-in.ts";
import { sessionDays as parseSessionDays } from "../src/settings/setting-values.ts";
import type { BucketFinder } from "../src/surfaces/s3/buckets.ts";
import { LISTINGS } from "./hub-listing.ts";
import { counted, noteCalls } from "./idle.ts";
import { raw } from "./raw-request.ts";
import { WatchedClock } from "./watched-clock.ts";

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
  json: any;
}

export interface CallOptions {
  /** A key's text; `null` sends no Authorization header. By default, a key of the first account that may do everything. */
  key?: string | null;
  /** Text and bytes are sent unchanged, anything else as JSON. */
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
  random: SeededRandom;
  services: Services;
  owner: Owner;
  /** The default key of `call`. */
  key: string;
  /** Every line logged so far, as text. */
  logged: string[];
  memory: BodyMemory;
  passwords: FakePasswords;
  newKey(options?: KeyOptions): Promise<string>;
  /** Makes a key of another account that may do everything there. */
  strangersKey(): Promise<string>;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Sends exactly these bytes on a socket of its own. Resolves with everything that came back once the server closed it. */
  raw(request: string): Promise<string>;
  /** Ends the server as a crash would: it acts no more, and cleans nothing up. */
  abandon(): Promise<void>;
}

export interface WorldOptions {
  store?: Store;
  rateLimits?: string;
  anonymousLimits?: string;
  graphqlIntrospection?: AppSettings["graphqlIntrospection"];
  payloadLimits?: string;
  resultMinutes?: string;
  /** How long and how much of other things is kept. */
  keeping?: Partial<Pick<AppSettings, "metricsDays" | "batchesKept" | "releasesKept" | "webhookHours" | "nodeHours">>;
  sessionDays?: string;
  stream?: AppSettings["stream"];
  publicUrl?: string;
  /** The identity provider by which people sign in. */
  signOn?: SignOn;
  passwordSignIn?: AppSettings["passwordSignIn"];
  domain?: string;
  podPorts?: AppSettings["podPorts"];
  restV1?: AppSettings["restV1"];
  corsOrigins?: string;
  invokeLimits?: string;
  connections?: number;
  /** The memory for bodies and results. The smallest setting of a server holds two bodies of 97 MB. */
  bodiesMb?: number;
  /** The driver that runs workers; absent if there is none. */
  compute?: (clock: WatchedClock) => Compute;
  /** What this server shares with an earlier one, or with another node. */
  found?: Pick<World, "clock" | "random" | "queue" | "logs">;
  /** The name of its machine. */
  machine?: string;
  /** The name of the node, if it differs from that of its machine. */
  nodeName?: string;
  /** When the machine was last switched on. */
  bootedAt?: number;
  frozenS?: number;
  /** How long it answers on after it was asked to end. */
  leaveS?: number;
  frozenMb?: number;
  metricsEndpoints?: number;
  clockAheadMs?: () => number | undefined;
  tracing?: Tracing;
  /** Whether the log has lines of the level debug too. */
  logsDebug?: boolean;
  quotas?: Quotas;
  uniqueNames?: boolean;
  signals?: MemorySignals;
  /** The time at which it begins. */
  startsAt?: number;
  /** Where S3 clients find files. */
  buckets?: readonly BucketFinder[];
  /** The folder with the files of a built console. */
  consoleFolder?: string;
  /** Decides which images are refused. */
  refusesImage?: RefusesImage;
  /** Where the listings of the hub come from. By default there are `millrace.echo` and `millrace.box`. */
  listingSources?: readonly ListingSource[];
  openModelFolder?: AppParts["openModelFolder"];
  /** Invented resources of REST v2. */
  resources?: (parts: { store: Store; clock: Clock; random: SeededRandom }) => Answered[];
}

/** Where the machine of a world is. */
const SITE = { dataCenter: "EU-RO-1", publicIp: "203.0.113.5", reachedAt: "203.0.113.5" };

export async function setup({
  store = new MemoryStore(),
  rateLimits = "600,18000,200000",
  anonymousLimits = "off",
  graphqlIntrospection,
  payloadLimits = "10,20,20",
  resultMinutes,
  keeping = {},
  sessionDays,
  stream = "auto",
  publicUrl = "https://millrace.test",
  domain,
  podPorts,
  restV1,
  corsOrigins,
  invokeLimits = "off",
  connections = 10_000,
  bodiesMb = 2048,
  compute,
  found,
  machine: id = "machine",
  bootedAt,
  signals = new MemorySignals(),
  frozenS = 3600,
  leaveS = 0,
  frozenMb,
  metricsEndpoints,
  clockAheadMs = () => undefined,
  tracing,
  logsDebug = false,
  quotas,
  uniqueNames = true,
  nodeName,
  resources,
  buckets,
  startsAt,
  consoleFolder,
  refusesImage,
  signOn,
  passwordSignIn,
  listingSources = [new MemoryListings(LISTINGS)],
  openModelFolder,
}: WorldOptions = {}): Promise<World> {
  const clock = found?.clock ?? new WatchedClock(startsAt);
  const random = found?.random ?? new SeededRandom(1);
  const { log, logged } = recordingLog(logsDebug);
  const vault = new EnvelopeVault([new SeededRandom(1).bytes(32)], random);
  const queue = found?.queue ?? new MemoryQueue(clock);
  const logs = found?.logs ?? new MemoryLogs();
  let url = "";
  const machine = compute && {
    ...{ id, compute: compute(clock), workerUrl: () => url, site: SITE },
    ...(bootedAt !== undefined && { bootedAt }),
  };
  const life = mortal(clock, logs, signals);
  const sessionTimes = sessionDays === undefined ? undefined : parseSessionDays(sessionDays);
  const given = { store, vault, clock, random, quotas, sessionTimes, uniqueNames, failed: failedTo(log) };
  const books = await openBooks({ ...given, publicUrl: () => publicUrl });
  // Handed over as an installation does: with the bare store in addition to the one that is written to.
  const handed = { ...books, store, vault };
  const owner = await books.accounts.firstOwner();
  const limits = new MemoryLimits();
  const passwords = new FakePasswords();
  const memory = new BodyMemory({ clock, bytes: bodiesMb * 1024 * 1024 });
  const parts = {
    store,
    limits,
    vault,
    queue,
    // With several nodes, signals may be lost. Tests say so with their signals.
    alone: signals.reliable,
    passwords,
    post: createPost({ allowPrivate: true, reachable: [] }),
    random,
    log,
    machines: machine ? [machine] : [],
    memory,
    clockAheadMs,
    tracing,
    buckets,
    consoleFolder,
    signOn,
    listingSources,
    ...(openModelFolder && { openModelFolder }),
    ...(refusesImage && { refusesImage }),
    resources: resources?.({ store, clock, random }),
    node: { id: nodeName ?? id, version: "0.0.0-test", url: () => url, workerUrl: () => url },
    ...life.parts,
  };
  const app = await createApp(parts, handed, {
    rateLimits: parsePolicy(rateLimits),
    anonymousLimits: parsePolicy(anonymousLimits),
    graphqlIntrospection,
    passwordSignIn,
    payloadLimits: parsePayloadLimits(payloadLimits),
    resultMinutes: resultMinutes === undefined ? undefined : parseRetention(resultMinutes),
    ...keeping,
    connections,
    logDays: 7,
    frozenS,
    leaveS,
    frozenMb,
    metricsEndpoints,
    stream,
    domain,
    podPorts,
    restV1,
    publicUrl: publicUrl || undefined,
    corsOrigins: corsOrigins === undefined ? undefined : parseOrigins(corsOrigins),
    invokeLimits: parseInvokeLimits(invokeLimits),
  });
  const { services } = app;
  noteCalls(app.http.server);
  url = await app.http.listen({ port: 0, host: "127.0.0.1" });
  app.start();

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
    random,
    services,
    owner,
    key,
    logged,
    memory,
    passwords,
    newKey,
    strangersKey: async () => newKey({ of: await services.accounts.create("stranger", "s@localhost") }),
    call: (method, path, options) => call(url, method, path, { key, ...options }),
    raw: (request) => raw(Number(new URL(url).port), request),
    async abandon() {
      life.end();
      await machine?.compute[Symbol.asyncDispose]();
      const closed = app.http.close();
      app.http.server.closeAllConnections();
      await closed;
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

/** The clock, signals and logs of one server. Once it has ended, no timer fires, no signal is heard and no line is written. */
function mortal(inner: Clock, kept: Logs, around: MemorySignals) {
  let alive = true;
  const clock: Clock = {
    now: () => inner.now(),
    monotonic: () => inner.monotonic(),
    after: (delayMs, action) => inner.after(delayMs, () => void (alive && action())),
  };
  const logs = new Proxy(kept, {
    get(target, name) {
      if (name === "append" && !alive) return () => undefined;
      const value = target[name as keyof Logs];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const signals: Signals = {
    reliable: around.reliable,
    emit: (topic, count) => around.emit(topic, count),
    listen: (topic, heard) => around.listen(topic, (count) => void (alive && heard(count))),
    [Symbol.asyncDispose]: () => around[Symbol.asyncDispose](),
  };
  return {
    parts: { clock, logs, signals },
    end() {
      alive = false;
    },
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
  const [response, text] = await counted(async (number) => {
    const response = await fetch(url + path, {
      method,
      headers: { ...sent, ...number, ...headers },
      signal,
      body: asItIs ? (body as string | undefined) : JSON.stringify(body),
    });
    return [response, await response.text()] as const;
  });
  const isJson = /[/+]json/.test(response.headers.get("content-type") ?? "") && text !== "";
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

export function recordingLog(logsDebug = false): { log: Log; logged: string[] } {
  const logged: string[] = [];
  const write = (fields: object, message: string) => void logged.push(JSON.stringify({ message, ...fields }, spellOut));
  const debug = { debug: write, isLevelEnabled: () => true };
  return { log: { info: write, warn: write, error: write, ...(logsDebug && debug) }, logged };
}

/** JSON shows nothing of an error, so this spells out its message, stack and cause, as a log does. */
function spellOut(_key: string, value: unknown): unknown {
  return value instanceof Error ? { message: value.message, stack: value.stack, cause: value.cause } : value;
}

/** A store that lets a test intercept commits and reads: to fail them, or to let something else happen first. */
export class InterceptedStore extends MemoryStore {
  beforeCommit: (writes: Write[]) => Promise<void> | void = () => {};
  beforeRead: (kind: string) => void = () => {};

  override async get(kind: string, id: string): Promise<StoredRecord | undefined> {
    this.beforeRead(kind);
    return super.get(kind, id);
  }

  override async find(kind: string, key: UniqueKey): Promise<StoredRecord | undefined> {
    this.beforeRead(kind);
    return super.find(kind, key);
  }

  override async list(listing: Listing): Promise<StoredRecord[]> {
    this.beforeRead(listing.kind);
    return super.list(listing);
  }

  override async commit(writes: Write[]): Promise<StoredRecord[]> {
    await this.beforeCommit(writes);
    return super.commit(writes);
  }
}
