/** The composition root: picks adapters and starts. Only it and some files of `composition` know adapters. */

import type { AddressInfo } from "node:net";
import pino from "pino";
import manifest from "../package.json" with { type: "json" };
import { Argon2Passwords } from "./adapters/crypto/argon2-passwords.ts";
import { createPost } from "./adapters/http/webhook-post.ts";
import { missingText } from "./adapters/sqlite/damage-report.ts";
import type { App } from "./composition/app.ts";
import { openAuditLines } from "./composition/audit-lines.ts";
import { Certificates, certificateFiles } from "./composition/certificates.ts";
import { ClockWatch } from "./composition/clock-watch.ts";
import { consoleFolder } from "./composition/console-folder.ts";
import { connectionsWithin, descriptorLimit } from "./composition/descriptor-limit.ts";
import type { Emulation } from "./composition/emulator.ts";
import { openHubSources } from "./composition/hub-sources.ts";
import {
  ensureOwnerKey,
  type Installation,
  loadApp,
  makeDataFolder,
  openInstallation,
  real,
} from "./composition/installation.ts";
import { listenTrouble } from "./composition/listen-trouble.ts";
import { changeLevel } from "./composition/log-level.ts";
import { openMetricsPort } from "./composition/metrics-port.ts";
import { modelFolders } from "./composition/model-folder.ts";
import { announce, nodeUrlOf, urlOf } from "./composition/server-address.ts";
import type { Surroundings } from "./composition/services.ts";
import { makeSignInLink } from "./composition/sign-in-link.ts";
import { openSignOn } from "./composition/sign-on.ts";
import { openSsh } from "./composition/ssh-port.ts";
import { enter, explained, findDamage, openLimits, openLogs, openQueue, unusedText } from "./composition/storage.ts";
import { lastingId, openHost, openMachine } from "./composition/this-machine.ts";
import { openTraces } from "./composition/traces.ts";
import { refuseTwin } from "./composition/twin.ts";
import { countUnderWay, endingText } from "./composition/under-way.ts";
import { Duties } from "./kernel/duties.ts";
import { named } from "./kernel/failed.ts";
import { floating } from "./kernel/floating.ts";
import { Instruments } from "./kernel/instruments.ts";
import type { Log } from "./kernel/log.ts";
import { MIB } from "./kernel/operation.ts";
import { hideFolder } from "./kernel/tellable.ts";
import { DiskGuard } from "./machines/disk-guard.ts";
import { DataDisk, roomIn } from "./ports/disk.ts";
import { readCatalog } from "./settings/operator-catalog.ts";
import type { Settings } from "./settings/settings.ts";

export {
  finishRemovals,
  type Installation,
  masterKeyFile,
  openInstallation,
  ownerKeyWasShown,
  processSettings,
  rotateMasterKey,
  unreadVariables,
} from "./composition/installation.ts";
export { ownerKeyFile } from "./composition/server-address.ts";
export type { Settings };

/** Lines go to standard error. Standard output is for people and for scripts that wait for "listening on". */
function createLog(level: string): ChangeableLog {
  const destination = pino.destination({ dest: 2, sync: false, maxLength: UNWRITTEN_LOG });
  // The disk is full or nobody reads the stream. Reporting that there would fail in the same way.
  destination.on("error", () => {});
  return pino({ level, base: undefined, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

/** A log whose level can be changed while the server runs. */
type ChangeableLog = Log & { level: string };

/** Lines that cannot be written now are kept up to this many bytes. */
const UNWRITTEN_LOG = 4 * MIB;

export interface RunningServer extends AsyncDisposable {
  url: string;
  /** The URL of the listener that speaks TLS, if there is one. */
  secureUrl: string | undefined;
  /** The owner's key, if no person has seen it yet. */
  newOwnerKey: string | undefined;
  /** A link to sign in with, if `newOwnerKey` is there. */
  signInLink: string | undefined;
  /** Makes a link that signs the owner in to the console once, or undefined where that cannot be written. */
  makeSignInLink(): Promise<string | undefined>;
  log: Log;
  /** Says what a shutdown would wait for now, in words for the person who starts it. */
  ending(): Promise<string>;
  /** Reads the level of the log anew. Returns it, or undefined if the log is not the server's own. */
  readLogLevel(): Promise<string | undefined>;
}

/** With an emulation, the server has the machine, the clock and the operations of the emulator. */
export function serve(
  settings: Settings,
  given: Partial<Surroundings> = {},
  emulation?: Emulation,
): Promise<RunningServer> {
  return explained(settings, () => start(settings, given, emulation));
}

async function start(
  settings: Settings,
  given: Partial<Surroundings>,
  emulation: Emulation | undefined,
): Promise<RunningServer> {
  const own = given.log ? undefined : createLog(settings.logLevel);
  const around = { ...real, ...given, log: given.log ?? own! };
  const duties = new Duties({ ...around, watch: real.clock });
  const { failed } = duties;
  const parts = { ...around, duties, failed };
  const signOn = await openSignOn(settings, parts);
  await using opened = new AsyncDisposableStack();
  opened.use(await readCatalog(settings));
  const tlsFiles = certificateFiles(settings);
  const certificates = tlsFiles && (await Certificates.open(tlsFiles, parts));
  let url = "";
  await makeDataFolder(settings);
  const clockWatch = new ClockWatch(parts);
  const presence = await enter(settings, { ...parts, clockWatch }, opened);
  const disk = opened.use(await DataDisk.open(settings.data, parts));
  hideFolder(settings.data);
  const unused = unusedText(settings);
  if (unused) parts.log.warn({}, unused);
  const suspects = await findDamage(settings, parts.clock.now(), (text) => parts.log.error({}, text));
  const isOwners = async (account: string): Promise<boolean> => installation.accounts.isFirst(account);
  const opening = openTogether(opened, [
    openInstallation(settings, { ...parts, presence, disk, publicUrl: () => settings.publicUrl ?? url }),
    openQueue(settings, { ...parts, disk, say: (text) => parts.log.info({}, text) }),
    openLimits(settings),
    openHost(settings, parts, isOwners),
  ]);
  const [[installation, { queue, signals, alone }, limits, host], { createApp }] = await Promise.all([
    opening,
    loadApp(),
  ]);
  const logs = opened.use(await openLogs(settings, named(failed, "write logs"), disk));
  const found = await queue.find(suspects, parts.clock.now());
  const missing = suspects.filter((_, index) => found[index] === undefined);
  if (missing.length > 0) parts.log.error({}, missingText(missing));
  const newOwnerKey = await ensureOwnerKey(settings, installation, parts.random);
  const { store, vault, masterKeys } = installation;
  const instruments = new Instruments(parts.clock);
  instruments.store.watch(store, ["commit", "get", "find", "list", "lease"]);
  instruments.queue.watch(queue, ["enqueue", "claim", "apply", "read"]);
  await masterKeys.check();
  presence?.onReturn(() => masterKeys.check());
  // With PostgreSQL, workers are on record elsewhere. Only their start needs this disk, and it reports a full disk itself.
  let guard: DiskGuard | undefined;
  const refusal = () => (settings.databaseUrl ? undefined : disk.reason) ?? guard?.refusal;
  const { accounts, machineKeys } = installation;
  const machineParts = { ...parts, accounts, machineKeys, isOwners, refusal, opened };
  const here = emulation
    ? emulation.machine(await lastingId(settings, "machine-id", parts.random))
    : await openMachine(settings, host, machineParts);
  for (const { compute } of here.machines) {
    if (!compute.writers) continue;
    guard = opened.use(new DiskGuard({ ...parts, writers: compute.writers, room: () => roomIn(settings.data) }));
    disk.stoppedBy(() => guard!.standStill());
  }
  const nodeUrl = () => settings.nodeUrl ?? nodeUrlOf(settings.host, new URL(url).port);
  const nodeId = await lastingId(settings, "node-id", parts.random);
  const { version } = manifest;
  const node = {
    id: nodeId,
    version,
    url: nodeUrl,
    workerUrl: () => settings.workerUrl ?? settings.publicUrl ?? nodeUrl(),
  };
  opened.use(await openAuditLines(settings, installation, { ...parts, instruments, node: nodeId }));
  const traces = await openTraces(settings, { ...parts, instruments, node: nodeId, version });
  opened.use(traces);
  const allowPrivate = settings.webhookPrivate === "allow";
  const post = createPost({ allowPrivate, reachable: settings.reachable ?? [] });
  const passwords = new Argon2Passwords();
  const ports = {
    store,
    vault,
    passwords,
    signOn,
    limits,
    queue,
    signals,
    alone,
    logs,
    post,
    refusal,
    diskRoom: () => roomIn(settings.data),
    clockAheadMs: () => clockWatch.aheadMs,
    instruments,
    tracing: traces?.tracing,
    ...here,
    ...(emulation && { resources: emulation.resources, ahead: emulation.ahead }),
    node,
    consoleFolder: consoleFolder(),
    listingSources: openHubSources(settings, parts.clock),
    openModelFolder: modelFolders(settings, parts.random),
    certificate: certificates?.current,
  };
  const connections = settings.connections ?? connectionsWithin(descriptorLimit());
  const app: App = opened.use(await createApp({ ...parts, ...ports }, installation, { ...settings, connections }));
  await app.http.listen({ port: settings.port, host: settings.host }).catch((error: unknown) => {
    throw listenTrouble(error, settings);
  });
  const secureUrl = certificates && (await listenSecurely(app.https!, settings));
  if (certificates) opened.use(certificates.follow((certificate) => app.https!.present(certificate)));
  const { port } = app.http.server.address() as AddressInfo;
  url = urlOf(settings.host, port);
  if (!alone) await refuseTwin(store, node, parts.clock);
  opened.use(await openMetricsPort(settings, app.metrics, parts.log));
  await here.openLinks(app, url);
  const workerUrl = settings.workerUrl ?? settings.publicUrl ?? url;
  opened.use(await announce(settings.data, { url, workerUrl }));
  app.start();
  // Nobody waits for this. It logs its own failures.
  if (app.runsPods) floating(openSsh(settings, app.ssh, parts.log), () => {});
  const makeLink = () => linkFor(installation, settings.publicUrl ?? url, parts.log);
  const signInLink = newOwnerKey && (await makeLink());
  const running = opened.move();
  const computes = here.machines.map(({ compute }) => compute);
  const readLogLevel = () => (own ? changeLevel(own, settings) : Promise.resolve(undefined));
  const ending = async () => endingText(await countUnderWay(queue, computes));
  return {
    ...{ url, secureUrl, newOwnerKey, signInLink, makeSignInLink: makeLink, log: parts.log, ending, readLogLevel },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function listenSecurely(
  https: NonNullable<App["https"]>,
  { tlsPort: port, tlsHost: host }: Settings,
): Promise<string> {
  return https.listen({ port, host }).catch((error: unknown) => {
    throw listenTrouble(error, { host, port }, "--tls-");
  });
}

/** For the person who is shown the new key. A server without a link, as on a full disk, is of more use than none. */
async function linkFor(installation: Installation, base: string, log: Log): Promise<string | undefined> {
  try {
    const { account } = await installation.accounts.firstOwner();
    return (await makeSignInLink(installation, { account, base, actor: { type: "system" } })).url;
  } catch (error) {
    log.warn({ err: error }, "no link to sign in was made: `millrace open` makes one");
    return undefined;
  }
}

/** Opens independent parts in parallel. The stack owns all of them, even if one fails to open. */
async function openTogether<T extends readonly (AsyncDisposable | undefined)[]>(
  opened: AsyncDisposableStack,
  opening: { [K in keyof T]: Promise<T[K]> },
): Promise<T> {
  const settled = await Promise.allSettled(opening);
  for (const one of settled) if (one.status === "fulfilled") opened.use(one.value);
  return (await Promise.all(opening)) as unknown as T;
}
