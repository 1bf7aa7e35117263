/** The volumes of a machine: storage that outlives instances. Only instances that mount a volume see it. */
import type { Files } from "../files/files.ts";
import { plainPath, refusedPath } from "./mount-paths.ts";
import { StartRefused } from "./refusal.ts";

/** All instances that name the same volume share it. */
export interface Mount {
  volume: string;
  /** The path at which the program sees it: absolute, and outside the system's own folders. It may be below another mount. */
  path: string;
  /** The program cannot change anything on it. */
  readOnly?: boolean;
}

export interface Volume {
  id: string;
  sizeGb: number;
  /** True for a volume on storage that several machines share, instead of this machine's disk. Only possible if `Volumes.shared`. */
  shared?: boolean;
}

/** A volume that exists. */
export interface FoundVolume extends Volume {
  /** Whether its size stops programs from writing more. */
  sizeEnforced: boolean;
}

export interface VolumeUsage {
  sizeGb: number;
  /** How much it holds, as counted at most some seconds ago. Absent if there is too much to count in time. */
  usedBytes?: number;
}

/** The ability to give programs volumes. */
export interface Volumes {
  /** Whether a volume's size stops programs from writing more. Without this, usage is only reported. */
  readonly sizes: boolean;
  /** Whether there is storage that other machines share. */
  readonly shared: boolean;
  /** Idempotent by id: an existing volume stays unchanged. Throws VolumeRefused for an invalid name or size. */
  create(volume: Volume): Promise<void>;
  /** Throws VolumeRefused if the new size is smaller, or if there is no such volume. */
  grow(id: string, sizeGb: number): Promise<void>;
  /**
   * Removes the volume with everything on it. Throws VolumeRefused while an instance that has not ended mounts it. Unknown ones are no
   * error.
   */
  remove(id: string): Promise<void>;
  /** Throws VolumeRefused if there is no such volume. It never blocks anything else, however much there is to count. */
  usage(id: string): Promise<VolumeUsage>;
  list(): Promise<FoundVolume[]>;
  find(id: string): Promise<FoundVolume | undefined>;
  /** Why the server itself cannot read the files, nor count them. Absent if it can. */
  readonly noFiles?: string;
  /** Gives the server itself access to the volume's files, mounted or not. Undefined if there is no such volume, and with `noFiles`. */
  files(id: string): Promise<Files | undefined>;
}

/** The volume cannot be what was asked for. */
export class VolumeRefused extends Error {}

/** A folder of the machine, and the path at which the program sees it. */
export interface MountedFolder {
  source: string;
  path: string;
  readOnly?: boolean;
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

/** Refuses mounts that are not possible. `reserved` lists system folders that this driver itself provides. */
export function checkMounts(mounts: readonly Mount[], reserved: readonly string[] = []): void {
  for (const mount of mounts) check(mount, reserved);
  const twice = mounts.find(({ path }, i) => mounts.findIndex((other) => other.path === path) !== i);
  if (twice) throw new StartRefused(`two volumes cannot both be at ${twice.path}`, { reason: "volume-invalid" });
}

/** A mount comes after the one that it is below, so that it is not hidden by it. */
export const outermostFirst = (mounts: readonly Mount[]): Mount[] =>
  mounts.toSorted((a, b) => a.path.split("/").length - b.path.split("/").length);

function check({ volume, path }: Mount, reserved: readonly string[]): void {
  if (!NAME.test(volume)) throw new StartRefused(`'${volume}' is no name of a volume`);
  const refused = refusedPath(path, reserved);
  if (refused) throw new StartRefused(refused, { reason: "volume-invalid" });
  if (plainPath(path) !== path)
    throw new StartRefused(`a volume cannot be at '${path}': write ${plainPath(path)}`, { reason: "volume-invalid" });
}
