/** The volumes of a machine: storage that outlives instances, seen by every instance that mounts it and by no other. */
import type { Files } from "../files/files.ts";
import { plainPath, refusedPath } from "./mount-paths.ts";
import { StartRefused } from "./refusal.ts";

/** All instances that name the same volume share it. */
export interface Mount {
  volume: string;
  /** Where the program sees it: absolute, and outside the system's own folders. */
  path: string;
}

export interface Volume {
  id: string;
  sizeGb: number;
  /** On the storage that several machines have, and not on this one's disk. Only where `Volumes.shared`. */
  shared?: boolean;
}

/** A volume as it is. */
export interface FoundVolume extends Volume {
  /** Programs cannot write more to it than its size. */
  sizeEnforced: boolean;
}

export interface VolumeUsage {
  sizeGb: number;
  /** What it holds, as it was counted some seconds ago at most; absent where there is too much to count in time. */
  usedBytes?: number;
}

/** The ability to give programs volumes. */
export interface Volumes {
  /** Programs cannot write more to a volume than its size; without it what they wrote is told, and nothing stops them. */
  readonly sizes: boolean;
  /** There is storage that other machines have too. */
  readonly shared: boolean;
  /** Idempotent by id: one that is there stays as it is. Throws VolumeRefused for a name or size that cannot be one. */
  create(volume: Volume): Promise<void>;
  /** Throws VolumeRefused where that would be less than it has, or where there is no such volume. */
  grow(id: string, sizeGb: number): Promise<void>;
  /** With all that it holds. Throws VolumeRefused while an instance that has not ended mounts it; unknown ones are no error. */
  remove(id: string): Promise<void>;
  /** Throws VolumeRefused where there is no such volume. Never holds up anything else, however much there is to count. */
  usage(id: string): Promise<VolumeUsage>;
  list(): Promise<FoundVolume[]>;
  find(id: string): Promise<FoundVolume | undefined>;
  /** What is on it, for the server itself, whether an instance mounts it or not; undefined where there is no such volume. */
  files(id: string): Promise<Files | undefined>;
}

/** What is asked of a volume cannot be. */
export class VolumeRefused extends Error {}

/** A folder of the machine and where the program sees it. */
export interface MountedFolder {
  source: string;
  path: string;
}

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/i;
const LARGEST_GB = 1_000_000;

export const isVolumeName = (name: string): boolean => NAME.test(name);

export function checkVolume({ id, sizeGb }: Volume): void {
  if (!isVolumeName(id)) throw new VolumeRefused(`'${id}' is no name of a volume`);
  if (!(sizeGb > 0 && sizeGb <= LARGEST_GB))
    throw new VolumeRefused(`a volume cannot have ${sizeGb} GB: give a number up to ${LARGEST_GB}`);
}

export function checkGrowth({ id, sizeGb }: Volume, wantedGb: number): void {
  checkVolume({ id, sizeGb: wantedGb });
  if (wantedGb < sizeGb) throw new VolumeRefused(`volume ${id} has ${sizeGb} GB, and no volume becomes smaller`);
}

export const NO_SHARED = "this machine has no storage that it shares with others: MILLRACE_VOLUMES names a folder";

export const notHere = (id: string) => `volume ${id} is not on this machine`;

export function refuseIfUsed(id: string, users: readonly string[]): void {
  if (users.length > 0) throw new VolumeRefused(`volume ${id} is mounted by ${users.slice(0, 3).join(", ")}`);
}

/** Refuses what cannot be mounted. `reserved`: places of the system that this driver shows itself. */
export function checkMounts(mounts: readonly Mount[], reserved: readonly string[] = []): void {
  for (const mount of mounts) check(mount, reserved);
  const twice = mounts.find(({ path }, i) => mounts.findIndex((other) => other.path === path) !== i);
  if (twice) throw new StartRefused(`two volumes cannot both be at ${twice.path}`, { reason: "volume-invalid" });
}

function check({ volume, path }: Mount, reserved: readonly string[]): void {
  if (!NAME.test(volume)) throw new StartRefused(`'${volume}' is no name of a volume`);
  const refused = refusedPath(path, reserved);
  if (refused) throw new StartRefused(refused, { reason: "volume-invalid" });
  if (plainPath(path) !== path)
    throw new StartRefused(`a volume cannot be at '${path}': write ${plainPath(path)}`, { reason: "volume-invalid" });
}
