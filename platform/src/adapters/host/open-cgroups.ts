/** Chooses this machine's control groups: those that still hold instances, or new ones of the version that the machine has. */
import { readFile, writeFile } from "node:fs/promises";
import type { Clock } from "../../kernel/clock.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import type { CgroupPlace, Cgroups } from "./cgroups.ts";
import { CgroupsV1 } from "./cgroups-v1.ts";
import { CgroupsV2 } from "./cgroups-v2.ts";

export const thisProcess = async (): Promise<CgroupPlace> => ({
  mounts: await readFile("/proc/self/mountinfo", "utf8"),
  own: await readFile("/proc/self/cgroup", "utf8"),
});

export interface CgroupOptions {
  place: CgroupPlace;
  /** Distinguishes the groups of one data folder from those of another. */
  name: string;
  /** The file that records which groups are in use. */
  file: string;
  clock: Clock;
}

/** The groups that this process may create, or the reason why there are none. */
export async function openCgroups(options: CgroupOptions): Promise<Cgroups | { cannot: string }> {
  const { place, name, file, clock } = options;
  const kept = await keptGroups(file, clock);
  if (kept && (await kept.list()).length > 0) return kept;
  await kept?.close().catch(() => {});
  try {
    const v1 = CgroupsV1.places(place);
    const cgroups = v1 ? await CgroupsV1.open(v1, name, clock) : await CgroupsV2.open(place, name, clock);
    await writeFile(file, cgroups.bases.join("\n"));
    return cgroups;
  } catch (error) {
    return { cannot: `no control groups can be made (${(error as Error).message})` };
  }
}

/** This process may be in another control group than an earlier one, and instances may still be below that one's group. */
async function keptGroups(file: string, clock: Clock): Promise<Cgroups | undefined> {
  const bases = (await readFile(file, "utf8").catch(ifNotThere(""))).split("\n").filter((line) => line !== "");
  if (bases.length === 0) return undefined;
  return bases.length === 1 ? CgroupsV2.at(bases[0]!, clock) : CgroupsV1.at(bases, clock);
}
