/** Chooses the version of control groups that this machine has. */
import { readFile } from "node:fs/promises";
import type { Clock } from "../../../kernel/clock.ts";
import type { CgroupPlace, Cgroups } from "./cgroups.ts";
import { CgroupsV1 } from "./cgroups-v1.ts";
import { CgroupsV2 } from "./cgroups-v2.ts";

export const thisProcess = async (): Promise<CgroupPlace> => ({
  mounts: await readFile("/proc/self/mountinfo", "utf8"),
  own: await readFile("/proc/self/cgroup", "utf8"),
});

/** The groups that this process may make, or the reason why there are none. `name` tells the groups of one data folder apart. */
export async function openCgroups(
  place: CgroupPlace,
  name: string,
  clock: Clock,
): Promise<Cgroups | { cannot: string }> {
  const v1 = CgroupsV1.places(place);
  const open = v1 ? () => CgroupsV1.open(v1, name, clock) : () => CgroupsV2.open(place, name, clock);
  return open().catch((error: Error) => ({ cannot: `no control groups can be made (${error.message})` }));
}
