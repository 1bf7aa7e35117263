/** The composition root: reads settings, picks adapters, starts. With `storage.ts`, the only file that knows concrete classes. */
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pino from "pino";
import { EnvelopeVault } from "./adapters/crypto/envelope-vault.ts";
import { DockerCompute } from "./adapters/docker/docker-compute.ts";
import { engineAddresses } from "./adapters/docker/engine.ts";
import { addMasterKey, dropOldMasterKeys, loadMasterKeys } from "./adapters/files/master-keys.ts";
import { HostCompute } from "./adapters/host/host-compute.ts";
import { createPost } from "./adapters/http/webhook-post.ts";
import { missingText } from "./adapters/sqlite/damage-report.ts";
import { tryLockFolder } from "./adapters/sqlite/folder-lock.ts";
import type { App, Services, Surroundings } from "./app.ts";
import { gpuTypeIds } from "./catalog/compute.ts";
import { connectionsWithin, descriptorLimit } from "./descriptor-limit.ts";
import { hostPolicy, imagePolicy } from "./guards/host-images.ts";
import { realClock, stay } from "./kernel/clock.ts";
import { apiKeyText, resourceId } from "./kernel/ids.ts";
import type { Log } from "./kernel/log.ts";
import { ifNotThere } from "./kernel/not-there.ts";
import { MIB } from "./kernel/operation.ts";
import { keepPrivately, readPrivate, replacePrivately } from "./kernel/private-file.ts";
import { type Random, realRandom } from "./kernel/random.ts";
import type { Site } from "./machines/own-machine.ts";
import { ByImage, isHostImage } from "./ports/compute/by-image.ts";
import { doorsOf, type Egress, nameServersOf } from "./ports/compute/egress.ts";
import { halves } from "./ports/compute/publish.ts";
import { DataDisk, type Disk } from "./ports/disk.ts";
import type { Store } from "./ports/store/store.ts";
import type { Vault } from "./ports/vault/vault.ts";
import type { Accounts } from "./resources/account/accounts.ts";
import { type Quotas, standardQuotas } from "./resources/account/quotas.ts";
import type { Rewrapped } from "./resources/secrets/master-keys.ts";
import { announce, announced, isLoopback, nodeUrlOf, publicIpIn, urlOf } from "./server-address.ts";
import { type Settings, settingsFrom, withoutSecrets } from "./settings.ts";
import { enter, findDamage, lockAlone, openLimits, openLogs, openQueue, openStore, type Presence } from "./storage.ts";

export type { Settings };

/** The settings of this process; flags come from the command line. */
export function processSettings(flags: Record<string, string | undefined> = {}): Settings {
  const settings = settingsFrom(process.env, flags);
  const { databaseUrl, databaseUrlFile } = settings;
  if (databaseUrlFile === undefined) return settings;
  if (databaseUrl)
    throw new Error("MILLRACE_DATABASE_URL and MILLRACE_DATABASE_URL_FILE are both set: set one of them");
  const written = readFileSync(databaseUrlFile, "utf8").trim();
  if (written === "") throw new Error(`${databaseUrlFile} is empty: it must hold the URL of a PostgreSQL database`);
  return { ...settings, databaseUrl: written };
}

/** Lines go to standard error: standard output is for people and for scripts that wait for "listening on". */
function createLog(level: string): Log {
  const destination = pino.destination({ dest: 2, sync: false, maxLength: UNWRITTEN_LOG });
  // A disk that is full, or nobody who reads: to say so there would fail in the same way.
  destination.on("error", () => {});
  return pino({ level, base: undefined, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

/** Lines that cannot be written now are kept up to so many bytes. */
const UNWRITTEN_LOG = 4 * MIB;

export const masterKeyFile = (settings: Settings) => join(settings.data, "master-key");
export const ownerKeyFile = (settings: Settings) => join(settings.data, "api-key");

const real = { clock: realClock, random: realRandom };

/** Most of the code, and half of the time to start: it is read while threads and other programs open the rest. */
const loadApp = () => import("./app.ts");

/** Whatever this process makes, the database files included, is its owner's alone. */
async function makeDataFolder({ data }: Settings): Promise<void> {
  process.umask(0o077);
  await mkdir(data, { recursive: true, mode: 0o700 });
}

export interface Installation extends Services, AsyncDisposable {
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
  await makeDataFolder(settings);
  if (!disk) await lookForDamage(settings);
  await using opened = new AsyncDisposableStack();
  const [store, { openServices }] = await Promise.all([openStore(settings, { thread, disk }), loadApp()]);
  opened.use(store);
  const { masterKey: text, masterKeyCommand: command } = settings;
  const source = { text, command, file: masterKeyFile(settings), environment: withoutSecrets(process.env) };
  const keys = await loadMasterKeys(source, parts.random);
  const vault = new EnvelopeVault(keys, parts.random, () => presence?.assertHeld());
  const services = await openServices({ ...parts, store, vault, publicUrl, quotas: quotasIn(settings) });
  const kept = opened.move();
  return { store, vault, ...services, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** A command opens what a server that crashed left, unless one runs: what it has open is not for others to judge. */
async function lookForDamage(settings: Settings): Promise<void> {
  using lock = settings.databaseUrl ? undefined : tryLockFolder(settings.data);
  if (lock) await findDamage(settings, real.clock.now(), sayToCaller);
}

function sayToCaller(text: string): void {
  process.stderr.write(`millrace: ${text}\n`);
}

const LOOK_FOR_REMOVALS_MS = 200;

/**
 * Ends the removal of endpoints from the command line: here, unless a server runs on the folder, whose memory is the truth about
 * its queue; then by waiting for that server. False when it has not come to it by then; it will.
 */
export async function finishRemovals(settings: Settings, installation: Installation, waitMs = 20_000) {
  const { removals } = installation;
  const untilMs = real.clock.monotonic() + waitMs;
  for (let tried = false; await removals.areLeft(); tried = true) {
    if (!tried) await removeHere(settings, installation);
    else if (real.clock.monotonic() > untilMs) return false;
    else await stay(LOOK_FOR_REMOVALS_MS);
  }
  return true;
}

async function removeHere(settings: Settings, installation: Installation): Promise<void> {
  using lock = settings.databaseUrl ? undefined : tryLockFolder(settings.data);
  if (!settings.databaseUrl && !lock) return;
  await using opened = new AsyncDisposableStack();
  const { queue } = opened.use(await openQueue(settings, real));
  const { endpointRemovers } = await import("./resources/removers.ts");
  const logs = opened.use(openLogs(settings, () => undefined));
  const { removals } = installation;
  removals.register("endpoint", endpointRemovers({ ...installation, jobs: queue, logs }));
  await removals.finishAll();
}

export interface RunningServer extends AsyncDisposable {
  url: string;
  /** The owner's key, when it was made in this start. */
  newOwnerKey: string | undefined;
  log: Log;
}

export async function serve(settings: Settings, given: Partial<Surroundings> = {}): Promise<RunningServer> {
  const parts = { ...real, log: given.log ?? createLog(settings.logLevel), ...given };
  await using opened = new AsyncDisposableStack();
  let url = "";
  await makeDataFolder(settings);
  const presence = await enter(settings, parts, opened);
  const disk = opened.use(await DataDisk.open(settings.data, parts));
  const suspects = await findDamage(settings, parts.clock.now(), (text) => parts.log.error({}, text));
  const isOwners = async (account: string): Promise<boolean> => installation.accounts.isFirst(account);
  const [installation, { queue, signals, alone }, limits, host] = await openTogether(opened, [
    openInstallation(settings, { ...parts, presence, disk, publicUrl: () => settings.publicUrl ?? url }),
    openQueue(settings, { ...parts, disk }),
    openLimits(settings),
    openHost(settings, parts, isOwners),
  ]);
  const logs = opened.use(
    openLogs(settings, (error) => parts.log.error({ err: error }, "a worker's log could not be written"), disk),
  );
  const found = await queue.find(suspects, parts.clock.now());
  const missing = suspects.filter((_, index) => found[index] === undefined);
  if (missing.length > 0) parts.log.error({}, missingText(missing));
  const newOwnerKey = await ensureOwnerKey(settings, installation, parts.random);
  const { store, vault, masterKeys } = installation;
  await masterKeys.check();
  presence?.onReturn(() => masterKeys.check());
  const id = await lastingId(settings, "machine-id", parts.random);
  const drivers = host && (await driversWith(host, settings, id, installation.accounts, parts, opened));
  const refusesHost = hostPolicy(settings, { isOwners, isSandboxed: () => host?.capabilities.sandbox ?? true });
  let hostUrl = "";
  const containerUrl = (containers: DockerCompute) => openLink(settings, app, containers, "container");
  const machine = drivers && {
    id,
    compute: new ByImage({ ...drivers, refusesHost }),
    workerUrl: (image: string) =>
      settings.workerUrl ?? (isHostImage(image) ? hostUrl : containerUrl(drivers.containers)),
    site: siteOf(settings),
    // Where workers are on record elsewhere, their start alone needs this disk, and says so.
    refusal: () => (settings.databaseUrl ? undefined : disk.refusal),
  };
  const nodeUrl = () => settings.nodeUrl ?? nodeUrlOf(settings.host, new URL(url).port);
  const nodeId = await lastingId(settings, "node-id", parts.random);
  const node = { id: nodeId, url: nodeUrl, workerUrl: () => settings.workerUrl ?? settings.publicUrl ?? nodeUrl() };
  const { createApp } = await loadApp();
  const refusesImage = imagePolicy({ refusesHost, refusesFolder: host && ((image, of) => host.refuses(image, of)) });
  const allowPrivate = settings.webhookPrivate === "allow";
  const post = createPost({ allowPrivate, reachable: settings.reachable ?? [] });
  const ports = { store, vault, limits, queue, signals, alone, logs, post, machines: machine ? [machine] : [], node };
  const connections = settings.connections ?? connectionsWithin(descriptorLimit());
  const app: App = opened.use(
    createApp({ ...parts, ...ports, refusesImage }, installation, { ...settings, connections }),
  );
  await app.http.listen({ port: settings.port, host: settings.host });
  const { port } = app.http.server.address() as AddressInfo;
  url = urlOf(settings.host, port);
  if (drivers) {
    const { host, containers } = drivers;
    hostUrl = isLoopback(host.linkHost) ? url : await openLink(settings, app, host, "worker");
    // Containers that outlived the last server ask there already. Without an engine or a network there are none.
    if (!settings.workerUrl) await containerUrl(containers).catch(() => {});
  }
  const workerUrl = settings.workerUrl ?? settings.publicUrl ?? url;
  opened.use(await announce(settings.data, { url, workerUrl }));
  app.fleet?.start();
  const running = opened.move();
  return { url, newOwnerKey, log: parts.log, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Where a worker that is started by hand reaches a server that runs on this installation; undefined when none does. */
export async function runningWorkerUrl(settings: Settings, { store }: Installation): Promise<string | undefined> {
  const here = await announced(settings.data);
  if (here || !settings.databaseUrl) return here?.workerUrl;
  const { workerUrlsOfNodes } = await import("./machines/nodes.ts");
  return (await workerUrlsOfNodes(store, real.clock.now()))[0];
}

/**
 * Seals everything with the newest master key, which is made here where the keys are in a file of ours. At each step everything is
 * readable: all keys are known until nothing needs the older ones. Broken off anywhere, it is done again from the beginning.
 */
export async function rotateMasterKey(
  settings: Settings,
  { random = realRandom, progress = () => {} }: { random?: Random; progress?: () => void } = {},
): Promise<Rewrapped> {
  await makeDataFolder(settings);
  await using opened = new AsyncDisposableStack();
  opened.use(await lockAlone(settings));
  const file = settings.masterKey || settings.masterKeyCommand ? undefined : masterKeyFile(settings);
  await findDamage(settings, real.clock.now(), sayToCaller);
  if (file) await addMasterKey(file, random);
  progress();
  const { masterKeys } = opened.use(await openInstallation(settings, { thread: false, random }));
  const { queue } = opened.use(await openQueue(settings, { ...real, random }));
  const rewrapped = await masterKeys.rewrapAll(queue, progress);
  if (file) await dropOldMasterKeys(file);
  return rewrapped;
}

/** Opens at once what does not need each other; all of it is the stack's, also when a part of it fails. */
async function openTogether<T extends readonly (AsyncDisposable | undefined)[]>(
  opened: AsyncDisposableStack,
  opening: { [K in keyof T]: Promise<T[K]> },
): Promise<T> {
  const settled = await Promise.allSettled(opening);
  for (const one of settled) if (one.status === "fulfilled") opened.use(one.value);
  return (await Promise.all(opening)) as unknown as T;
}

/** What runs workers on this machine. */
async function driversWith(
  host: HostCompute,
  settings: Settings,
  machine: string,
  accounts: Accounts,
  parts: Surroundings,
  opened: AsyncDisposableStack,
): Promise<{ host: HostCompute; containers: DockerCompute }> {
  if (isLoopback(settings.host) && (await accounts.list()).length <= 1) host.allowUnsandboxed();
  if (host.warning) parts.log.warn({}, host.warning);
  return { host, containers: opened.use(await openContainers(settings, machine, host, parts)) };
}

async function openHost(
  settings: Settings,
  { clock, log }: Surroundings,
  isOwners: (account: string) => Promise<boolean>,
): Promise<HostCompute | undefined> {
  if (settings.compute === "none") return undefined;
  return HostCompute.open({
    folder: join(settings.data, "instances"),
    volumes: volumesFolder(settings),
    clock,
    log,
    gpus: settings.gpus,
    gpuTypes: gpuTypeIds,
    onLoopback: isLoopback(settings.host),
    unsandboxed: settings.sandbox === "optional",
    writableApp: settings.hostApp === "writable",
    library: fileURLToPath(new URL("../../worker", import.meta.url)),
    watchdogS: settings.watchdogS,
    publishedPorts: halves(settings.publishedPorts)[0],
    egress: await egressOf(settings),
    output: { program: settings.outputMb.program * MIB, machine: settings.outputMb.machine * MIB },
    roots: settings.hostRoots,
    isOwners,
  });
}

async function egressOf({ reachable = [], workerUrl }: Settings): Promise<Egress> {
  return { reachable, doors: await doorsOf(workerUrl), nameServers: await nameServersOf() };
}

/** What fits this machine, but for what an operator says. */
const quotasIn = ({ quotas }: Settings): Quotas => ({ ...standardQuotas(availableParallelism()), ...quotas });

function siteOf({ dataCenter, publicUrl, host }: Settings): Site {
  return { dataCenter, publicIp: publicIpIn(publicUrl ?? nodeUrlOf(host, "0")) };
}

/** The same for programs and containers: a volume is one, whatever runs on it. */
const volumesFolder = ({ data }: Settings) => join(data, "volumes");

/** What runs container images on this machine, if there is an engine. */
async function openContainers(
  settings: Settings,
  installation: string,
  host: HostCompute,
  { clock, log }: Surroundings,
): Promise<DockerCompute> {
  const [box] = await host.capacity();
  return DockerCompute.open({
    addresses: engineAddresses(settings.docker, process.env),
    installation,
    volumes: volumesFolder(settings),
    egress: await egressOf(settings),
    publishedPorts: halves(settings.publishedPorts)[1],
    clock,
    log,
    devices: host.devices,
    ceilings: box?.ceilings ?? false,
    watchdog: { file: join(settings.data, "container-watchdog"), afterMs: settings.watchdogS * 1000 },
  });
}

/** A name for this node or its machine that stays the same: instances are found again under it after a restart. */
async function lastingId({ data }: Settings, name: "machine-id" | "node-id", random: Random): Promise<string> {
  const file = join(data, name);
  await keepPrivately(file, `${resourceId(random)}\n`);
  return (await readPrivate(file)).trim();
}

/** Workers with a network of their own reach the worker link and the API at this machine's end of it, and nothing else of the machine. */
async function openLink(
  { data }: Settings,
  { workerLink }: App,
  driver: HostCompute | DockerCompute,
  whose: string,
): Promise<string> {
  const host = driver.linkHost;
  const file = join(data, `${whose}-link-port`);
  // The one of the last time: workers that outlived it still ask there.
  const last = Number(await readPrivate(file).catch(ifNotThere("0")));
  const port = await workerLink.open(host, last).catch((error: Error) => {
    throw new Error(`cannot listen for workers at ${host}, set MILLRACE_WORKER_URL: ${error.message}`, {
      cause: error,
    });
  });
  if (port !== last) await replacePrivately(file, `${port}\n`);
  await driver.openLink(port);
  return urlOf(host, port);
}

/** The owner's key from the settings, or one made at the first start: on the disk before it is worth anything. */
async function ensureOwnerKey(
  settings: Settings,
  { accounts, workerKeys }: Installation,
  random: Random,
): Promise<string | undefined> {
  const owner = await accounts.firstOwner();
  if (settings.apiKey !== undefined) {
    // The variable is a worker's too: from a shell with those of `worker-env` it would give a worker all that the owner may do.
    if (await workerKeys.isIssued(settings.apiKey))
      throw new Error("MILLRACE_API_KEY is the key of a worker; unset it, or set the owner's");
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
