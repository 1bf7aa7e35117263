/** Opens an installation's data, with or without a server: for the server and for commands. */
import { existsSync, readFileSync } from "node:fs";
import { access, constants, mkdir, readdir, rm, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { tryLockFolder } from "../adapters/sqlite/folder-lock.ts";
import { realClock, stay } from "../kernel/clock.ts";
import { apiKeyText } from "../kernel/ids.ts";
import { keepPrivately, readPrivate } from "../kernel/private-file.ts";
import { type Random, realRandom } from "../kernel/random.ts";
import { commandDisk, type Disk } from "../ports/disk.ts";
import { CompanionStore } from "../ports/store/companion-store.ts";
import type { Store } from "../ports/store/store.ts";
import type { Vault } from "../ports/vault/vault.ts";
import { type Quotas, standardQuotas } from "../resources/account/quotas.ts";
import type { ChargeBook } from "../resources/billing/charge-book.ts";
import type { Rewrapped } from "../resources/secrets/master-keys.ts";
import { postgresUrl } from "../settings/setting-values.ts";
import { type Settings, settingsFrom, withoutSecrets } from "../settings/settings.ts";
import type { ServiceParts } from "./account-services.ts";
import { RESTORING } from "./backup/places.ts";
import { type Addresses, announced, ownerKeyFile } from "./server-address.ts";
import type { Books, Surroundings } from "./services.ts";
import {
  chargesOf,
  findDamage,
  lockAlone,
  openLogs,
  openQueue,
  openStore,
  orTrouble,
  type Presence,
} from "./storage.ts";

export const masterKeyFile = (settings: Settings) => join(settings.data, "master-key");

export const real = { clock: realClock, random: realRandom };

/** This is most of the code and takes half of the start. It is loaded while threads and other programs open the rest. */
export const loadApp = () => import("./app.ts");
const loadServices = () => import("./services.ts");

/** The settings of this process; flags come from the command line. */
export const processSettings = (flags: Record<string, string | undefined> = {}): Settings =>
  settingsIn(process.env, flags);

/** The settings that these variables and flags give, with the database that a file names. */
export function settingsIn(
  env: Record<string, string | undefined>,
  flags: Record<string, string | undefined> = {},
): Settings {
  const settings = settingsFrom(env, flags);
  const { databaseUrl, databaseUrlFile } = settings;
  if (databaseUrlFile === undefined) return settings;
  if (databaseUrl)
    throw new Error("MILLRACE_DATABASE_URL and MILLRACE_DATABASE_URL_FILE are both set: set one of them");
  const written = readUrl(databaseUrlFile);
  if (written === "") throw new Error(`${databaseUrlFile} is empty: it must hold the URL of a PostgreSQL database`);
  return { ...settings, databaseUrl: postgresUrlIn(written, databaseUrlFile) };
}

function postgresUrlIn(written: string, file: string): string {
  try {
    return postgresUrl(written);
  } catch (error) {
    throw new Error(`the text of ${file} ${(error as Error).message}`, { cause: error });
  }
}

/** Returns variables that look like settings but are not, as one line. A near miss of a setting is refused. */
export async function unreadVariables(
  env: Record<string, string | undefined> = process.env,
): Promise<string | undefined> {
  return (await import("../settings/unknown-variables.ts")).unknownVariables(env);
}

function readUrl(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(
      `${file}, named by --database-url-file or MILLRACE_DATABASE_URL_FILE, cannot be read (${code}): name a file that this user may read`,
      { cause },
    );
  }
}

/** Creates the folders one by one, because Node's recursive `mkdir` never ends where nothing can be created, such as in `/proc`. */
async function makeFolders(folder: string, isAgain = false): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && (await stat(folder)).isDirectory()) return;
    if (code !== "ENOENT" || isAgain) throw error;
    await makeFolders(dirname(folder));
    await makeFolders(folder, true);
  }
}

/** Only the owner can access what this process creates, including the database files. */
export async function makeDataFolder({ data }: Settings, { isRestore = false } = {}): Promise<void> {
  process.umask(0o077);
  if (!isRestore && existsSync(join(data, RESTORING)))
    throw new Error(`a restore into ${data} is under way or broke off: wait for it, or run 'millrace restore' again`);
  const make = async () => {
    await makeFolders(data);
    await access(data, constants.R_OK | constants.W_OK | constants.X_OK);
  };
  await orTrouble(make, ({ folderTrouble }, error) => folderTrouble(error, data));
}

export interface Installation extends Books, AsyncDisposable {
  store: Store;
  vault: Vault;
}

interface InstallationOptions {
  thread?: boolean;
  publicUrl?: () => string;
  presence?: Presence | undefined;
  disk?: Disk;
}

export async function openInstallation(
  settings: Settings,
  { thread = true, publicUrl, presence, disk, ...given }: Partial<Surroundings> & InstallationOptions = {},
): Promise<Installation> {
  const parts = { ...real, ...given };
  const say = given.log ? (text: string) => given.log!.info({}, text) : sayToCaller;
  await makeDataFolder(settings);
  if (!disk) await lookForDamage(settings);
  await using opened = new AsyncDisposableStack();
  const [store, { openBooks }] = await Promise.all([
    openStore(settings, { thread, disk: disk ?? commandDisk(settings.data), say }),
    loadServices(),
  ]);
  opened.use(store);
  const { EnvelopeVault } = await import("../adapters/crypto/envelope-vault.ts");
  const { loadMasterKeys } = await import("../adapters/files/master-keys.ts");
  const { masterKey: text, masterKeyCommand: command } = settings;
  const source = { text, command, file: masterKeyFile(settings), environment: withoutSecrets(process.env) };
  const keys = await loadMasterKeys(source, parts.random);
  const vault = new EnvelopeVault(keys, parts.random, () => presence?.assertHeld());
  const { sessionDays: sessionTimes } = settings;
  const uniqueNames = settings.uniqueNames !== "off";
  // Damage shows when the first page is read, not when the file is opened.
  const books = await orTrouble(
    () => openBooks({ ...parts, store, vault, publicUrl, quotas: quotasIn(settings), sessionTimes, uniqueNames }),
    ({ sqliteTrouble }, error) => sqliteTrouble(error, join(settings.data, "store.db")),
  );
  // A server reads them from its own queue instead, once that is open.
  books.charges.readFrom({ charges: (filter) => chargesOf(settings, filter) });
  const kept = opened.move();
  return { store, vault, ...books, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** A command reads charges from where the server writes them. */
async function chargesIn(settings: Settings): Promise<ChargeBook> {
  const { ChargeBook } = await import("../resources/billing/charge-book.ts");
  const book = new ChargeBook(real);
  book.readFrom({ charges: (filter) => chargesOf(settings, filter) });
  return book;
}

/** The records of an installation and the parts for its services, for a command that creates only the services it needs. */
export interface Records extends ServiceParts, AsyncDisposable {
  quotas: Quotas;
  /** Loaded when asked for, since few commands show money. */
  charges(): Promise<ChargeBook>;
}

/** With `makes`, an empty folder becomes an installation. */
export async function openRecords(settings: Settings, { makes = false } = {}): Promise<Records> {
  await refuseNoInstallation(settings, makes);
  await makeDataFolder(settings);
  await lookForDamage(settings);
  const store = await openStore(settings, { thread: false, disk: commandDisk(settings.data), say: sayToCaller });
  return {
    ...real,
    store: new CompanionStore(store),
    quotas: quotasIn(settings),
    charges: () => chargesIn(settings),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** A mistyped folder is not created or changed. If everything is in PostgreSQL, the folder has nothing that a command reads. */
export async function refuseNoInstallation({ data, databaseUrl }: Settings, makes = false): Promise<void> {
  if (databaseUrl || existsSync(join(data, "store.db"))) return;
  const found = await readdir(data).then(
    (names) => (makes && names.length === 0 ? undefined : "the folder holds no store.db"),
    ({ code }: NodeJS.ErrnoException) => NOT_A_FOLDER[code ?? ""] ?? `the folder cannot be read (${code})`,
  );
  if (found === undefined) return;
  throw new Error(
    `there is no installation in ${data}: ${found}. Name the right folder by --data or MILLRACE_DATA, ` +
      "or make an installation with 'millrace serve'.",
  );
}

const NOT_A_FOLDER: Record<string, string> = { ENOENT: "the folder does not exist", ENOTDIR: "it is a file" };

/** A command checks what a crashed server left. If a server runs, its open files must not be judged. */
export async function lookForDamage(settings: Settings): Promise<void> {
  using lock = settings.databaseUrl ? undefined : tryLockFolder(settings.data);
  if (lock) await findDamage(settings, real.clock.now(), sayToCaller);
}

function sayToCaller(text: string): void {
  process.stderr.write(`millrace: ${text}\n`);
}

const LOOK_FOR_REMOVALS_MS = 200;

/**
 * Finishes the removal of endpoints from the command line. It does so here, unless a server runs on the folder. Then it waits for the
 * server, which has the queue's state in memory. Returns what is still left in the files and will be removed later, or undefined.
 */
export async function finishRemovals(
  settings: Settings,
  installation: Installation,
  waitMs = 20_000,
): Promise<string | undefined> {
  const { removals, store } = installation;
  const untilMs = real.clock.monotonic() + waitMs;
  for (let tried = false; await removals.areLeft(); tried = true) {
    if (!tried) await removeHere(settings, installation);
    else if (real.clock.monotonic() > untilMs)
      return "the server has not removed its jobs yet; it does so as soon as it can";
    else await stay(LOOK_FOR_REMOVALS_MS);
  }
  if (await store.scrub()) return undefined;
  return "its text is still in store.db, because another program is using the file; the server clears it when it next can";
}

async function removeHere(settings: Settings, installation: Installation): Promise<void> {
  using lock = settings.databaseUrl ? undefined : tryLockFolder(settings.data);
  if (!settings.databaseUrl && !lock) return;
  await using opened = new AsyncDisposableStack();
  const { queue } = opened.use(await openQueue(settings, { ...real, say: sayToCaller }));
  const { endpointRemovers } = await import("../resources/removers.ts");
  const logs = opened.use(await openLogs(settings, () => undefined));
  const { removals } = installation;
  removals.register("endpoint", endpointRemovers({ ...installation, jobs: queue, logs }));
  await removals.finishAll();
}

/**
 * Reseals everything with the newest master key, which is created here if we own the key file. Everything is readable at each step, because
 * all keys are kept until nothing needs the older ones. If it is interrupted, it can be run again from the beginning.
 */
export async function rotateMasterKey(
  settings: Settings,
  { random = realRandom, progress = () => {} }: { random?: Random; progress?: () => void } = {},
): Promise<Rewrapped> {
  await refuseNoInstallation(settings);
  await makeDataFolder(settings);
  await using opened = new AsyncDisposableStack();
  opened.use(await lockAlone(settings));
  const file = settings.masterKey || settings.masterKeyCommand ? undefined : masterKeyFile(settings);
  await findDamage(settings, real.clock.now(), sayToCaller);
  const { addMasterKey, dropOldMasterKeys } = await import("../adapters/files/master-keys.ts");
  if (file) await addMasterKey(file, random);
  progress();
  const { masterKeys } = opened.use(await openInstallation(settings, { thread: false, random }));
  const { queue } = opened.use(await openQueue(settings, { ...real, random, say: sayToCaller }));
  const rewrapped = await masterKeys.rewrapAll(queue, progress);
  if (file) await dropOldMasterKeys(file);
  return rewrapped;
}

/** The defaults for this machine, with the operator's changes. */
const quotasIn = ({ quotas }: Settings): Quotas => ({ ...standardQuotas(availableParallelism()), ...quotas });

/**
 * This file exists from before the owner's key is created until a person was shown the key. If a start fails in between, the next one shows
 * it.
 */
const unshownFile = (settings: Settings) => join(settings.data, "api-key-unshown");

export const ownerKeyWasShown = (settings: Settings) => rm(unshownFile(settings), { force: true });

/** Uses the owner's key from the settings, or creates one at the first start. It is on disk before it becomes valid. */
export async function ensureOwnerKey(
  settings: Settings,
  { accounts, workerKeys, audit }: Installation,
  random: Random,
): Promise<string | undefined> {
  const owner = await accounts.firstOwner();
  const setOwnerKey = (key: string) => {
    const actor = { type: "system" } as const;
    const deed = { account: owner.account, actor, operation: "setOwnerKey", resource: { type: "api-keys" } };
    return audit.record(deed, () => accounts.setOwnerKey(owner, key), { onlyChanges: true });
  };
  if (settings.apiKey !== undefined) {
    // Workers use the same variable. In a shell with the variables of `worker-env`, a worker's key would get all rights of the owner.
    if (await workerKeys.isIssued(settings.apiKey))
      throw new Error("MILLRACE_API_KEY is the key of a worker; unset it, or set the owner's");
    await setOwnerKey(settings.apiKey);
    return undefined;
  }
  const file = ownerKeyFile(settings);
  const isUnshown = existsSync(unshownFile(settings));
  if (await accounts.hasOwnerKey(owner)) return isUnshown ? (await readPrivate(file)).trim() : undefined;
  await keepPrivately(unshownFile(settings), "");
  await keepPrivately(file, `${apiKeyText(random)}\n`);
  const key = (await readPrivate(file)).trim();
  await setOwnerKey(key);
  return key;
}

/** The URL at which a worker that a person starts reaches a running server of this installation, or undefined if none runs. */
export async function runningWorkerUrl(settings: Settings, store: Store): Promise<string | undefined> {
  return (await runningAt(settings, store))?.workerUrl;
}

/** Where a browser on this machine reaches a server that runs on this installation, or undefined if none runs. */
export async function runningUrl(settings: Settings, store: Store): Promise<string | undefined> {
  return (await runningAt(settings, store))?.url;
}

async function runningAt(settings: Settings, store: Store): Promise<Addresses | undefined> {
  const here = await announced(settings.data);
  if (here || !settings.databaseUrl) return here;
  const { workerUrlsOfNodes } = await import("../machines/nodes.ts");
  const [url] = await workerUrlsOfNodes(store, real.clock.now());
  return url === undefined ? undefined : { url, workerUrl: url };
}
