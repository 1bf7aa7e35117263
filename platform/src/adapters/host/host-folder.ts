/** Decides which folders programs may be given. Each start checks again, since a folder may have changed since the last one. */
import { opendir, realpath, stat } from "node:fs/promises";
import { dirname, join, normalize } from "node:path";
import { ifNotThere } from "../../kernel/not-there.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { folderIn, isInside } from "../machine/host-image.ts";
import { kernelMountIn } from "../machine/mounts.ts";

export interface FolderRules {
  /** The data folder. No program may see any part of it. */
  data: string;
  /** The folders that images must lie in, if the operator restricts them. */
  roots?: readonly string[];
  /** Whether programs run as a user of their own. */
  asAnother: boolean;
}

/** A folder that was checked. */
export interface HostFolder {
  /** The path without symbolic links. */
  path: string;
  /** Distinguishes the folder from anything that may later be found under its path. */
  identity: string;
}

class FolderRefused extends StartRefused {
  override readonly reason = "folder-refused";
}

/** The folder does not exist on this machine, or the caller must not learn that it does. Another machine may have it. */
export class MissingFolder extends FolderRefused {}

/**
 * Everyone but the owner gets this same reason for a missing folder and for a forbidden one, so that nobody learns what is on the machine.
 */
const noFolder = (named: string) =>
  `there is no folder ${named} on this machine that programs may be given: it has to exist, be open to others as every folder above it is (chmod o+rX), and hold no socket`;

/** System folders, including everything below them. */
const SYSTEM = ["/proc", "/sys", "/dev", "/run"];
/** System folders whose subfolders may hold a project. */
const SYSTEM_ROOTS = ["/", "/etc", "/var", "/root"];

const OTHERS_MAY_READ = 0o005;
const OTHERS_MAY_PASS = 0o001;

/**
 * Deep enough for a home directory with the sockets that agents and engines put there. Beyond these bounds nothing is checked or refused.
 */
const DEEPEST = 4;
const MOST_ENTRIES = 10_000;
const PASSED_BY = new Set(["node_modules", ".git"]);

/** Refuses an image whose folder does not exist, whoever asks. */
export async function checkFolderExists(image: string): Promise<void> {
  const named = folderIn(image);
  if (named !== undefined) await existing(named).catch(() => Promise.reject(new MissingFolder(noFolder(named))));
}

/** The real folder behind this name. */
export async function existing(named: string): Promise<HostFolder> {
  const path = await realpath(named).catch(() => undefined);
  const found = path === undefined ? undefined : await lookAt(path);
  if (!path || !found)
    throw new MissingFolder(`there is no folder ${named} on this machine: make it, or name one that is there`);
  if (!found.isDirectory()) throw new MissingFolder(`${named} is no folder: name the folder that it is in`);
  return { path, identity: identityOf(found) };
}

/**
 * The folder of an image, if a program may have it. With `ownersOwn` the program runs for the installation's owner, who may use folders
 * below a closed one, such as a project in a home. For anyone else a closed folder also closes everything below it.
 */
export async function findFolder(
  image: string,
  rules: FolderRules,
  ownersOwn: boolean,
): Promise<HostFolder | undefined> {
  const named = folderIn(image);
  if (named === undefined) return undefined;
  refuseSystem(named, normalize(named).replace(/(.)\/$/, "$1"));
  return lookThrough(named, rules, ownersOwn).catch((error: unknown) => {
    if (ownersOwn || !(error instanceof StartRefused)) throw error;
    throw new MissingFolder(noFolder(named), { cause: error });
  });
}

async function lookThrough(named: string, rules: FolderRules, ownersOwn: boolean): Promise<HostFolder> {
  const folder = await existing(named);
  refuseSystem(named, folder.path);
  // A start waits for this, so what only reads a few attributes is done at once. The first refusal counts.
  const checks = [
    refuseDisguised(named, folder),
    refuseData(named, folder, rules.data),
    rootOf(named, folder, rules.roots).then((root) =>
      refuseClosed(named, folder, { root, ownersOwn, asAnother: rules.asAnother }),
    ),
  ];
  for (const check of await Promise.allSettled(checks)) if (check.status === "rejected") throw check.reason;
  const socket = await socketIn(folder.path);
  if (socket)
    throw new FolderRefused(`${named} holds a socket, ${socket}, by which a program could talk to what listens there`);
  return folder;
}

/** The reason of a refusal. A missing folder is no refusal where another machine may have it. */
export async function refusalOf(finding: Promise<unknown>, isOnlyMachine: boolean): Promise<string | undefined> {
  try {
    await finding;
    return undefined;
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return error instanceof MissingFolder && !isOnlyMachine ? undefined : error.message;
  }
}

function refuseSystem(named: string, path: string): void {
  const system = SYSTEM.find((folder) => isInside(path, folder));
  if (system)
    throw new FolderRefused(`${named} is part of ${system}, which is the machine's own: name a folder of a project`);
  if (SYSTEM_ROOTS.includes(path))
    throw new FolderRefused(`${named} is the machine's own folder ${path}: name a folder of a project`);
}

/** Refuses system folders under other names: mounted a second time, or as a kernel file system mounted inside the folder. */
export async function refuseDisguised(named: string, { path, identity }: HostFolder): Promise<void> {
  const [identities, mount] = await Promise.all([Promise.all(SYSTEM_ROOTS.map(identityAt)), kernelMountIn(path)]);
  const root = SYSTEM_ROOTS[identities.indexOf(identity)];
  if (root !== undefined)
    throw new FolderRefused(`${named} is the machine's own folder ${root}: name a folder of a project`);
  if (mount) throw new FolderRefused(`${named} shows ${mount}: name a folder of a project`);
}

export async function refuseData(named: string, { path, identity }: HostFolder, data: string): Promise<void> {
  const real = await realpath(data).catch(() => data);
  if (isInside(real, path) || isInside(path, real) || (await identityAt(real)) === identity)
    throw new FolderRefused(`${named} holds or is part of the server's data folder, which no program may see`);
}

/** The operator's allowed folder that this one lies in. */
async function rootOf(
  named: string,
  { path }: HostFolder,
  roots: readonly string[] | undefined,
): Promise<string | undefined> {
  if (!roots) return undefined;
  const real = await Promise.all(roots.map((root) => realpath(root).catch(() => root)));
  const root = real.find((folder) => isInside(path, folder));
  if (root === undefined)
    throw new FolderRefused(`${named} is in none of the folders that programs may come from: ${roots.join(", ")}`);
  return root;
}

async function refuseClosed(
  named: string,
  { path }: HostFolder,
  { root, ownersOwn, asAnother }: { root: string | undefined; ownersOwn: boolean; asAnother: boolean },
): Promise<void> {
  if ((asAnother || !ownersOwn) && !(await isOpen(path, OTHERS_MAY_READ)))
    throw new FolderRefused(
      `${named} cannot be read by others, and programs run as a user of their own: chmod o+rX ${named}`,
    );
  if (ownersOwn) return;
  for (let above = dirname(path); path !== root && above !== "/"; above = dirname(above)) {
    // Folders that an operator lists are open to programs, wherever they lie.
    if (root !== undefined && !isInside(above, root)) return;
    if (!(await isOpen(above, OTHERS_MAY_PASS)))
      throw new FolderRefused(`${named} lies below ${above}, which is closed to others: chmod o+x ${above}`);
  }
}

const isOpen = async (folder: string, bits: number) => ((await stat(folder)).mode & bits) === bits;

/** The first socket found, nearest level first. Folders that this server cannot read are unreadable for programs too. */
export async function socketIn(folder: string): Promise<string | undefined> {
  let left = MOST_ENTRIES;
  let level = [folder];
  for (let depth = 0; depth < DEEPEST && level.length > 0; depth++) {
    const below: string[] = [];
    for (const parent of level) {
      const entries = await opendir(parent, { bufferSize: 256 }).catch(ifNotThere(undefined));
      for await (const entry of entries ?? []) {
        if (entry.isSocket()) return join(parent, entry.name);
        if (entry.isDirectory() && !PASSED_BY.has(entry.name)) below.push(join(parent, entry.name));
        if (--left === 0) return undefined;
      }
    }
    level = below;
  }
  return undefined;
}

/** Uses bigint, since the inode numbers of some file systems exceed the safe range of a plain number. */
const lookAt = (path: string) => stat(path, { bigint: true }).catch(() => undefined);

const identityOf = ({ dev, ino }: { dev: bigint; ino: bigint }) => `${dev}:${ino}`;

const identityAt = async (path: string) => {
  const found = await lookAt(path);
  return found && identityOf(found);
};
