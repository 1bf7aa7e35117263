/** The machine of this process, as one that runs instances: its programs, its containers, and how they reach the server. */
import { existsSync } from "node:fs";
import { uptime } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DockerCompute } from "../adapters/docker/docker-compute.ts";
import { engineAddresses } from "../adapters/docker/engine.ts";
import { HostCompute } from "../adapters/host/host-compute.ts";
import { spanNames } from "../adapters/host/span-names.ts";
import { SpanLinks } from "../adapters/machine/span-links.ts";
import { unmountedText } from "../adapters/machine/volume-folders.ts";
import { gpuTypeIds, homeDataCenter } from "../catalog/compute.ts";
import { hostPolicy, imagePolicy } from "../guards/host-images.ts";
import { resourceId } from "../kernel/ids.ts";
import { ifNotThere } from "../kernel/not-there.ts";
import { MIB } from "../kernel/operation.ts";
import { keepPrivately, readPrivate, replacePrivately } from "../kernel/private-file.ts";
import type { Random } from "../kernel/random.ts";
import type { Reason } from "../kernel/reason.ts";
import type { OwnMachine, Site } from "../machines/own-machine.ts";
import { ByImage, isHostImage } from "../ports/compute/by-image.ts";
import { doorsOf, type Egress, nameServersOf } from "../ports/compute/egress.ts";
import { halves } from "../ports/compute/publish.ts";
import type { Accounts } from "../resources/account/accounts.ts";
import type { RefusesImage } from "../resources/endpoints/images.ts";
import type { MachineKeys } from "../resources/secrets/machine-keys.ts";
import type { Settings } from "../settings/settings.ts";
import type { App } from "./app.ts";
import { openKubernetesMachine } from "./kubernetes-machine.ts";
import { isLoopback, isOnlyHere, nodeUrlOf, outerAddress, publicIpIn, urlOf } from "./server-address.ts";
import type { Surroundings } from "./services.ts";

type IsOwners = (account: string) => Promise<boolean>;

export interface MachineParts extends Surroundings {
  accounts: Accounts;
  isOwners: IsOwners;
  /** Why nothing new is started here. */
  refusal: () => Reason | undefined;
  /** The key with which a machine encrypts what it sends to others. */
  machineKeys: Pick<MachineKeys, "of">;
  opened: AsyncDisposableStack;
}

export interface ThisMachine {
  /** Empty if this server starts no workers. */
  machines: OwnMachine[];
  refusesImage: RefusesImage;
  /** Lets instances reach the server, once it listens there. */
  openLinks(app: App, url: string): Promise<void>;
}

/** `host` has everything that does not need the data, and is opened at the same time. */
export async function openMachine(
  settings: Settings,
  host: HostCompute | undefined,
  { accounts, isOwners, refusal, machineKeys, opened, ...parts }: MachineParts,
): Promise<ThisMachine> {
  const id = await lastingId(settings, "machine-id", parts.random);
  const refusesHost = hostPolicy(settings, { isOwners, isIsolated: () => host?.isolation.isWhole ?? true });
  const refusesImage = imagePolicy({ refusesHost, refusesFolder: host && ((...asked) => host.refuses(...asked)) });
  const openLinks = async () => {};
  if (settings.compute === "kubernetes") {
    const around = { site: siteOf(settings), refusal, opened };
    return { machines: [await openKubernetesMachine(settings, parts, around)], refusesImage, openLinks };
  }
  if (!host) return { machines: [], refusesImage, openLinks };
  if (host.spans?.canEncrypt) host.spans.useKey(await machineKeys.of(id));
  const { lacks, end } = host.spans?.spanning ?? {};
  const gap = lacks ?? end?.cannotEncrypt;
  if (gap !== undefined) parts.log.info({ gap }, "networks of clusters do not reach all other machines");
  const drivers = await driversWith(host, settings, id, accounts, { ...parts, isOwners }, opened);
  let hostUrl = "";
  let containerUrl: () => Promise<string> = () => Promise.reject(new Error("the server does not listen yet"));
  const machine = {
    id,
    compute: new ByImage({ ...drivers, refusesHost }),
    workerUrl: (image: string) => settings.workerUrl ?? (isHostImage(image) ? hostUrl : containerUrl()),
    site: siteOf(settings),
    refusal,
    bootedAt: parts.clock.now() - uptime() * 1000,
  };
  // This runs after the application has ended what uses the folders, and before the drivers close, which know what else uses them.
  opened.defer(() => host.volumeFolders.rest());
  return {
    machines: [machine],
    refusesImage,
    async openLinks(app, url) {
      containerUrl = () => openLink(settings, app, drivers.containers, "container");
      hostUrl = isLoopback(host.link.host) ? url : await openLink(settings, app, host, "worker");
      // Containers that outlived the last server already call it there. Without an engine or a network there are none.
      if (!settings.workerUrl) await containerUrl().catch(() => {});
    },
  };
}

/** The drivers that run workers on this machine. */
async function driversWith(
  host: HostCompute,
  settings: Settings,
  machine: string,
  accounts: Accounts,
  parts: Surroundings & { isOwners: IsOwners },
  opened: AsyncDisposableStack,
): Promise<{ host: HostCompute; containers: DockerCompute }> {
  if (isOnlyHere(settings) && (await accounts.list()).length <= 1) host.isolation.allowOwner();
  if (host.isolation.warning) parts.log.warn({}, host.isolation.warning);
  return { host, containers: opened.use(await openContainers(settings, machine, host, parts)) };
}

export async function openHost(
  settings: Settings,
  { clock, random, log, failed }: Surroundings,
  isOwners: IsOwners,
): Promise<HostCompute | undefined> {
  if (settings.compute !== "host") return undefined;
  // The server goes on without the storage: what mounts no volume needs none.
  if (settings.volumes && !existsSync(settings.volumes)) log.error({}, unmountedText(settings.volumes));
  const folder = join(settings.data, "instances");
  return HostCompute.open({
    folder,
    spans: await openSpans(settings, folder),
    volumes: join(settings.data, "volumes"),
    sharedVolumes: settings.volumes,
    clock,
    random,
    log,
    ...(failed && { failed }),
    gpus: settings.gpus,
    gpuTypes: gpuTypeIds(),
    isOnlyHere: isOnlyHere(settings),
    unsandboxed: settings.sandbox === "optional",
    writableApp: settings.hostApp === "writable",
    library: fileURLToPath(new URL("../../../worker", import.meta.url)),
    watchdogS: settings.watchdogS,
    publishedPorts: halves(settings.publishedPorts)[0],
    egress: await egressOf(settings),
    output: { program: settings.outputMb.program * MIB, machine: settings.outputMb.machine * MIB },
    roots: settings.hostRoots,
    readable: settings.hostReadable,
    // Each server that shares the database has its own machine.
    isOnlyMachine: settings.databaseUrl === undefined,
    isOwners,
  });
}

/** Without a shared database there is no other machine whose networks could be joined. */
async function openSpans(settings: Settings, folder: string): Promise<SpanLinks | undefined> {
  const { databaseUrl, groupAddress, nodeUrl, host, groupPort: port, trustedNetworks: trusts = [] } = settings;
  if (!databaseUrl) return undefined;
  const address = groupAddress ?? publicIpIn(nodeUrl ?? nodeUrlOf(host, "0"));
  return SpanLinks.open({ ...spanNames(folder), address, port, trusts });
}

async function egressOf({ reachable = [], workerUrl }: Settings): Promise<Egress> {
  return { reachable, doors: await doorsOf(workerUrl), nameServers: await nameServersOf() };
}

function siteOf({ dataCenter, publicUrl, host }: Settings): Site {
  const publicIp = publicIpIn(publicUrl ?? nodeUrlOf(host, "0"));
  const at = { publicIp, reachedAt: publicIp ?? outerAddress() };
  return dataCenter === undefined ? { dataCenter: homeDataCenter(), isEverywhere: true, ...at } : { dataCenter, ...at };
}

/** The driver for container images on this machine, if there is a container engine. */
async function openContainers(
  settings: Settings,
  installation: string,
  host: HostCompute,
  { clock, log, failed, isOwners }: Surroundings & { isOwners: IsOwners },
): Promise<DockerCompute> {
  const [box] = await host.capacity();
  return DockerCompute.open({
    addresses: engineAddresses(settings.docker, process.env),
    installation,
    volumes: host.volumeFolders,
    egress: await egressOf(settings),
    publishedPorts: halves(settings.publishedPorts)[1],
    clock,
    log,
    ...(failed && { failed }),
    devices: host.devices,
    spans: host.spans,
    leave: host.isolation.leave,
    isOwners,
    ceilings: box?.ceilings ?? false,
    watchdog: { file: join(settings.data, "container-watchdog"), afterMs: settings.watchdogS * 1000 },
  });
}

/** A lasting id of this node or its machine. After a restart, instances are found again by it. */
export async function lastingId({ data }: Settings, name: "machine-id" | "node-id", random: Random): Promise<string> {
  const file = join(data, name);
  await keepPrivately(file, `${resourceId(random)}\n`);
  return (await readPrivate(file)).trim();
}

/**
 * Workers with a network of their own reach the worker link and the API at this machine's end of that network, and nothing else of the
 * machine.
 */
async function openLink(
  { data }: Settings,
  { workerLink }: App,
  driver: HostCompute | DockerCompute,
  whose: string,
): Promise<string> {
  const { host } = driver.link;
  const file = join(data, `${whose}-link-port`);
  // The previous port is used again, because workers that outlived the last server still call it.
  const last = Number(await readPrivate(file).catch(ifNotThere("0")));
  const port = await workerLink.open(host, last).catch((error: Error) => {
    throw new Error(`cannot listen for workers at ${host}, set MILLRACE_WORKER_URL: ${error.message}`, {
      cause: error,
    });
  });
  if (port !== last) await replacePrivately(file, `${port}\n`);
  await driver.link.open(port);
  return urlOf(host, port);
}
