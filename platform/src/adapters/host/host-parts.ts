/** What the host driver is made of: each part opened as far as this machine lets it. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Capabilities } from "../../ports/compute/compute.ts";
import type { Cgroups } from "./cgroups.ts";
import { cudaWith, type Device, findGpus } from "./gpus.ts";
import { type HostOptions, keyOf } from "./host-options.ts";
import { Launcher } from "./launcher.ts";
import type { InstanceNetwork } from "./network.ts";
import { openCgroups, thisProcess } from "./open-cgroups.ts";
import { openNetwork } from "./open-network.ts";
import { Watchdog } from "./watchdog.ts";

export interface HostParts {
  cgroups: Cgroups | undefined;
  network: InstanceNetwork;
  launcher: Launcher;
  watchdog: Watchdog;
  gpus: readonly Device[];
  cuda: string | undefined;
}

export async function openParts(options: HostOptions): Promise<HostParts> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const { key, seed } = keyOf(options.folder);
  const watchdog = new Watchdog(options.folder, options.watchdogS, options.clock);
  await watchdog.takeOver();
  const launcher = await Launcher.open({ ...options, key });
  const cgroups = await openCgroups({
    place: await thisProcess(),
    name: `millrace-${key}`,
    file: join(options.folder, ".cgroups"),
    clock: options.clock,
  });
  if ("cannot" in cgroups) options.log.warn({}, `instances run without limits and are never frozen: ${cgroups.cannot}`);
  const network = await openNetwork(options, { key, seed, sandboxed: launcher.sandboxed });
  const gpus = await findGpus({
    mode: options.gpus,
    types: options.gpuTypes,
    mayBeVirtual: options.onLoopback,
  });
  watchdog.traces = [...network.traces, ...("cannot" in cgroups ? [] : cgroups.bases)];
  return {
    cgroups: "cannot" in cgroups ? undefined : cgroups,
    network,
    launcher,
    watchdog,
    gpus,
    cuda: await cudaWith(gpus),
  };
}

export const capabilitiesOf = ({ cgroups, network, launcher }: HostParts): Capabilities => ({
  freeze: cgroups !== undefined,
  limits: cgroups !== undefined,
  ownNetwork: network.own,
  sandbox: launcher.sandboxed,
  volumes: launcher.sandboxed,
  volumeSizes: false,
  groups: network.groups !== undefined,
});
