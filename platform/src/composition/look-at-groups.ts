/** Says whether a server on this machine can make control groups, by which it limits and measures programs. */
import { access, constants, readFile } from "node:fs/promises";
import { join } from "node:path";
import { mountsOf, ownPath, seenAt } from "../adapters/host/cgroup-files.ts";
import type { CgroupPlace } from "../adapters/host/cgroups.ts";
import { CgroupsV1 } from "../adapters/host/cgroups-v1.ts";
import { thisProcess } from "../adapters/host/open-cgroups.ts";
import { type Finding, ok, warn } from "../kernel/finding.ts";

const NEEDED = ["cpu", "memory", "pids"];
const WITHOUT = "programs have no limits and are never frozen";

export async function lookAtGroups(place?: CgroupPlace): Promise<Finding> {
  const { mounts, own } = place ?? (await thisProcess());
  const v1 = CgroupsV1.places({ mounts, own });
  if (v1) return (await mayWrite([v1.memory])) ? ok("version 1") : notMine();
  const mount = mountsOf(mounts, "cgroup2")[0];
  if (!mount)
    return warn(
      `none are mounted: ${WITHOUT}`,
      "Mount them: sudo mount -t cgroup2 none /sys/fs/cgroup. In a container, run it with --cgroupns=host --privileged.",
    );
  const there = (await readFile(join(mount.at, "cgroup.controllers"), "utf8").catch(() => "")).trim().split(" ");
  const missing = NEEDED.filter((name) => !there.includes(name));
  if (missing.length > 0)
    return warn(
      `the kernel does not offer ${missing.join(", ")} at ${mount.at}: ${WITHOUT}`,
      "Boot with cgroup_enable=memory systemd.unified_cgroup_hierarchy=1.",
    );
  const path = ownPath(own, "");
  const below = path === undefined ? undefined : seenAt(mount, path);
  return (await mayWrite([mount.at, ...(below === undefined ? [] : [below])])) ? ok("version 2") : notMine();
}

const notMine = () =>
  warn(
    `this user may make none: ${WITHOUT}`,
    "Start the server as root, or as a service of systemd with Delegate=yes.",
  );

async function mayWrite(folders: readonly string[]): Promise<boolean> {
  for (const folder of folders) {
    const may = await access(folder, constants.W_OK).then(
      () => true,
      () => false,
    );
    if (may) return true;
  }
  return false;
}
