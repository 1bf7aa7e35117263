/** Opens the parts of the host driver, each as far as this machine allows. */
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Lacks } from "../../ports/compute/abilities.ts";
import type { Facts } from "../../ports/compute/compute.ts";
import { SHARED_NETWORK } from "../../ports/compute/groups.ts";
import { Isolation } from "../machine/isolation.ts";
import { VolumeImages } from "../machine/volume-images.ts";
import type { Cgroups } from "./cgroups.ts";
import { cudaWith, type Device, findGpus } from "./gpus.ts";
import { HostExec } from "./host-exec.ts";
import type { HostInstance } from "./host-instance.ts";
import { type HostOptions, keyOf } from "./host-options.ts";
import { HostStats } from "./host-stats.ts";
import { Launcher } from "./launcher.ts";
import type { InstanceNetwork, Networked } from "./network.ts";
import { openCgroups, thisProcess } from "./open-cgroups.ts";
import { openNetwork } from "./open-network.ts";
import { openReadable } from "./readable-folders.ts";
import { DISKS, Scratches } from "./scratches.ts";
import { Watchdog } from "./watchdog.ts";

export interface HostParts {
  isolation: Isolation;
  cgroups: Cgroups | undefined;
  network: InstanceNetwork;
  launcher: Launcher;
  watchdog: Watchdog;
  gpus: readonly Device[];
  cuda: string | undefined;
  exec: HostExec;
  stats: HostStats;
  images: VolumeImages | undefined;
  scratches: Scratches;
}

export async function openParts(options: HostOptions): Promise<HostParts> {
  const { folder, clock } = options;
  const own = [dirname(folder), options.volumes, ...(options.sharedVolumes ? [options.sharedVolumes] : [])];
  const shown = await openReadable(options.readable, { own, asAnother: process.getuid!() === 0 });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { key, seed } = keyOf(folder);
  const watchdog = new Watchdog(folder, options.watchdogS, clock);
  await watchdog.takeOver();
  const { unsandboxed, isOwners = async () => true } = options;
  const isolation = new Isolation({ leave: unsandboxed ? "all" : "nobody", isOwners });
  const launcher = await Launcher.open({ ...options, key, isolation, shown });
  const opened = await openCgroups({
    place: await thisProcess(),
    name: `millrace-${key}`,
    file: join(folder, ".cgroups"),
    clock,
  });
  if ("cannot" in opened) isolation.note("limits", `instances would run without limits: ${opened.cannot}`);
  const cgroups = "cannot" in opened ? undefined : opened;
  const [network, gpus, images] = await Promise.all([
    openNetwork(options, { key, seed, sandboxed: launcher.sandboxed, isolation }),
    findGpus({ mode: options.gpus, types: options.gpuTypes, mayBeVirtual: options.isOnlyHere }),
    launcher.sandboxed ? VolumeImages.open(options.volumes) : undefined,
  ]);
  watchdog.traces = [...network.traces, ...(cgroups?.bases ?? [])];
  if (images && "cannot" in images) options.log.warn({}, `volumes are not held to their sizes: ${images.cannot}`);
  const disks = usable(images) && (await VolumeImages.open(join(folder, DISKS), { ahead: clock }));
  const scratches = new Scratches(folder, usable(disks), (text) => options.log.warn({}, text));
  const exec = await HostExec.open({ launcher, cgroups, clock });
  const stats = new HostStats({ cgroups, gpus, launcher, clock });
  return {
    isolation,
    cgroups,
    network,
    launcher,
    watchdog,
    gpus,
    cuda: await cudaWith(gpus),
    exec,
    stats,
    images: usable(images),
    scratches,
  };
}

const usable = (images: VolumeImages | { cannot: string } | undefined) =>
  images && "cannot" in images ? undefined : images;

export const factsOf = ({ cgroups, network, launcher }: HostParts): Facts => ({
  limits: cgroups !== undefined,
  ownNetwork: network.own,
  sandbox: launcher.sandboxed,
});

const NO_CGROUPS = "this machine has no control groups for it";

export const lacksOf = ({ cgroups, network, launcher, exec }: HostParts): Lacks => ({
  ...(!cgroups && { freezing: NO_CGROUPS, stats: NO_CGROUPS }),
  ...(!launcher.sandboxed && { volumes: "programs see the machine's own files here" }),
  ...(!network.groups && { networks: SHARED_NETWORK }),
  ...(!network.published && { publishing: "instances share the machine's network" }),
  ...(exec.cannot !== undefined && { exec: exec.cannot }),
});

export const networkedOf = (instance: HostInstance): Networked => ({
  index: instance.kept.address,
  ports: instance.kept.ports,
  processes: () => instance.processes(),
});
