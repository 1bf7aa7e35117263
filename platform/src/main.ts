/** The composition root: reads settings, picks adapters, starts. The only file that knows every concrete class. */
import { mkdir } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import pino from "pino";
import { Authenticator, KEY_SHAPE } from "./guards/authenticate.ts";
import { parsePolicy, RateLimiter } from "./guards/rate-limit.ts";
import { type Clock, realClock } from "./kernel/clock.ts";
import { apiKeyText } from "./kernel/ids.ts";
import type { Log } from "./kernel/log.ts";
import { handlersOf } from "./kernel/operation.ts";
import { keepPrivately, readPrivate } from "./kernel/private-file.ts";
import { type Random, realRandom } from "./kernel/random.ts";
import type { Limits } from "./ports/limits/limits.ts";
import { MemoryLimits } from "./ports/limits/memory-limits.ts";
import { SqliteStore } from "./ports/store/sqlite-store.ts";
import type { Store } from "./ports/store/store.ts";
import { EnvelopeVault } from "./ports/vault/envelope-vault.ts";
import { loadMasterKeys } from "./ports/vault/master-keys.ts";
import { Accounts } from "./resources/account/accounts.ts";
import { accountOperations } from "./resources/account/operations.ts";
import { AccountService } from "./resources/account/service.ts";
import { secretOperations } from "./resources/secrets/operations.ts";
import { SecretService } from "./resources/secrets/service.ts";
import { type Settings, settingsFrom } from "./settings.ts";
import { Pipeline } from "./surfaces/http/pipeline.ts";
import { closeServer, createServer } from "./surfaces/http/server.ts";
import { mountDocs } from "./surfaces/rest-v2/docs.ts";
import { mountRestV2, restV2Surface } from "./surfaces/rest-v2/routes.ts";

export type { Settings };

/** The settings of this process; flags come from the command line. */
export function processSettings(flags: Record<string, string | undefined> = {}): Settings {
  return settingsFrom(process.env, flags);
}

export function createLog(level: string): Log {
  // Lines go to standard error: standard output is for people and for scripts that wait for "listening on".
  return pino(
    { level, base: undefined, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: false }),
  );
}

/** What reads and writes an installation's data, with or without a server around it. */
export interface Installation extends AsyncDisposable {
  store: Store;
  accounts: Accounts;
  account: AccountService;
  secrets: SecretService;
}

interface Surroundings {
  clock: Clock;
  random: Random;
}

const real: Surroundings = { clock: realClock, random: realRandom };

export const masterKeyFile = (settings: Settings) => join(settings.data, "master-key");
export const ownerKeyFile = (settings: Settings) => join(settings.data, "api-key");

export async function openInstallation(
  settings: Settings,
  { thread = true, ...given }: Partial<Surroundings> & { thread?: boolean } = {},
): Promise<Installation> {
  const parts = { ...real, ...given };
  // Whatever this process makes, the database files included, is its owner's alone.
  process.umask(0o077);
  await mkdir(settings.data, { recursive: true, mode: 0o700 });
  const store = await openStore(settings, thread);
  try {
    const keys = await loadMasterKeys(
      { text: settings.masterKey, command: settings.masterKeyCommand, file: masterKeyFile(settings) },
      parts.random,
    );
    const vault = new EnvelopeVault(keys, parts.random);
    const accounts = new Accounts({ store, ...parts });
    const account = new AccountService({ store, ...parts });
    const secrets = new SecretService({ store, vault, ...parts });
    await Promise.all([accounts.prepare(), account.prepare(), secrets.prepare()]);
    return { store, accounts, account, secrets, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

async function openStore(settings: Settings, thread: boolean): Promise<Store> {
  if (!settings.databaseUrl) return SqliteStore.open(join(settings.data, "store.db"), { thread });
  const { PostgresStore } = await import("./ports/store/postgres-store.ts");
  return PostgresStore.open(settings.databaseUrl);
}

async function openLimits(settings: Settings): Promise<Limits> {
  if (!settings.databaseUrl) return new MemoryLimits();
  const { PostgresLimits } = await import("./ports/limits/postgres-limits.ts");
  return PostgresLimits.open(settings.databaseUrl);
}

export interface RunningServer extends AsyncDisposable {
  url: string;
  app: FastifyInstance;
  /** The owner's key, when it was made in this start. */
  newOwnerKey: string | undefined;
}

export async function serve(
  settings: Settings,
  given: Partial<Surroundings> & { log?: Log } = {},
): Promise<RunningServer> {
  const parts = { ...real, ...given };
  const log = given.log ?? createLog(settings.logLevel);
  await using opened = new AsyncDisposableStack();
  const installation = opened.use(await openInstallation(settings, parts));
  const limits = opened.use(await openLimits(settings));
  const newOwnerKey = await ensureOwnerKey(settings, installation.accounts, parts.random);
  const failed = (error: unknown) => log.error({ err: error }, "a background duty failed");
  const authenticator = opened.use(new Authenticator({ store: installation.store, clock: parts.clock, failed }));
  const limiter = new RateLimiter({ limits, policy: parsePolicy(settings.rateLimits), clock: parts.clock });
  const pipeline = new Pipeline({ limiter, log, ...parts });

  const app = createServer();
  opened.defer(() => closeServer(app, parts.clock));
  mountDocs(app);
  mountRestV2(app, pipeline, restV2Surface(authenticator), restHandlers(installation, authenticator));
  await app.listen({ port: settings.port, host: settings.host });
  const { port } = app.server.address() as AddressInfo;
  const running = opened.move();
  return { url: urlOf(settings.host, port), app, newOwnerKey, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

function restHandlers({ account, secrets }: Installation, authenticator: Authenticator) {
  const accountHandlers = handlersOf(accountOperations, account);
  return {
    ...accountHandlers,
    ...handlersOf(secretOperations, secrets),
    async deleteApiKey(call: Parameters<typeof accountHandlers.deleteApiKey>[0]) {
      await accountHandlers.deleteApiKey(call);
      authenticator.forget();
    },
  };
}

/** The owner's key from the settings, or one made at the first start: on the disk before it is worth anything. */
async function ensureOwnerKey(settings: Settings, accounts: Accounts, random: Random): Promise<string | undefined> {
  const owner = await accounts.firstOwner();
  if (settings.apiKey !== undefined) {
    if (!KEY_SHAPE.test(settings.apiKey))
      throw new Error("MILLRACE_API_KEY must have 16 or more visible ASCII characters");
    await accounts.setOwnerKey(owner, settings.apiKey);
    return undefined;
  }
  if (await accounts.hasOwnerKey(owner)) return undefined;
  const file = ownerKeyFile(settings);
  await keepPrivately(file, `${apiKeyText(random)}\n`);
  const key = (await readPrivate(file)).trim();
  await accounts.setOwnerKey(owner, key);
  return key;
}

/** Listening on every address is reached, from this machine, at the loopback one. */
function urlOf(host: string, port: number): string {
  const reached = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}
