/** The volumes of a machine: folders that outlive instances, seen by every instance that names them and by no other. */
import { chmod, mkdir } from "node:fs/promises";
import { join, posix } from "node:path";
import { type Mount, StartRefused } from "./compute.ts";

/** A folder of the machine and where the program sees it. */
export interface MountedFolder {
  source: string;
  path: string;
}

const NAME = /^[a-z0-9][a-z0-9-]{0,63}$/i;

/** What the kernel shows of itself. */
const KERNEL = ["/proc", "/sys", "/dev"];

/**
 * The folders of these mounts, made where one is named for the first time. `reserved`: places of the system that this driver shows itself.
 * Programs run as any user, and nobody else can walk to the folders: what holds them is the server's own.
 */
export async function mountedFolders(
  volumes: string,
  mounts: readonly Mount[] = [],
  reserved: readonly string[] = [],
): Promise<MountedFolder[]> {
  checkMounts(mounts, reserved);
  return Promise.all(mounts.map(async ({ volume, path }) => ({ source: await ensure(join(volumes, volume)), path })));
}

/** Refuses what cannot be mounted. */
export function checkMounts(mounts: readonly Mount[], reserved: readonly string[] = []): void {
  for (const mount of mounts) check(mount, [...KERNEL, ...reserved]);
  const twice = mounts.find(({ path }, i) => mounts.findIndex((other) => other.path === path) !== i);
  if (twice) throw new StartRefused(`two volumes cannot both be at ${twice.path}`);
}

function check({ volume, path }: Mount, reserved: readonly string[]): void {
  if (!NAME.test(volume)) throw new StartRefused(`'${volume}' is no name of a volume`);
  if (!posix.isAbsolute(path) || posix.normalize(path) !== path || path.endsWith("/"))
    throw new StartRefused(`a volume cannot be at '${path}': write an absolute path such as /workspace`);
  const system = reserved.find((folder) => path === folder || path.startsWith(`${folder}/`));
  if (system) throw new StartRefused(`a volume cannot be at ${path}: ${system} belongs to the system`);
}

async function ensure(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Not by `mkdir`, which would open what it stands in too; and each time, since a server may have ended in between.
  await chmod(folder, 0o777);
  return folder;
}
