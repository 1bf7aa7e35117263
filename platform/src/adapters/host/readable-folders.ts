/** Folders of this machine, such as a Python or models, that an operator shows to every program read-only under the same path. */
import { readdir, stat } from "node:fs/promises";
import { normalize } from "node:path";
import { StartRefused } from "../../ports/compute/compute.ts";
import { APP, SYSTEM_FOLDERS } from "../../ports/compute/mount-paths.ts";
import { isInside } from "../machine/host-image.ts";
import { existing, type HostFolder, refuseData, refuseDisguised, socketIn } from "./host-folder.ts";
import { OURS } from "./sandbox.ts";

export interface ReadableRules {
  /** The server's own folders. No program may see any part of them. */
  own: readonly string[];
  /** Whether programs run as a user of their own. */
  asAnother: boolean;
}

/** A folder, and a path under which programs see it. */
export interface ShownFolder {
  source: string;
  path: string;
}

export const SETTING = "MILLRACE_HOST_READABLE";

/** System folders, including everything below them. */
const NEVER = ["/proc", "/sys", "/dev", "/run", "/var/run", "/etc"];
/** Folders that are never shown whole; folders below them may be shown. */
const NEVER_WHOLE = ["/", "/var", "/root", "/home", "/opt"];
/** Paths at which every program has a folder of its own. */
const PROGRAMS_OWN = ["/tmp", "/var/tmp", APP, "/node_modules", OURS];
/** Every program sees these folders unchanged. */
export const ALWAYS_SHOWN = ["/usr", ...SYSTEM_FOLDERS];
/** Folders in which people keep keys, by the names that common tools use. */
const KEYS = [".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store"];
const OTHERS_MAY_READ = 0o005;

/** The folders to show for these names. Throws before anything runs if a folder does not exist or no program may see it. */
export async function openReadable(named: readonly string[] = [], rules: ReadableRules): Promise<ShownFolder[]> {
  const shown: ShownFolder[] = [];
  for (const name of named) {
    const plain = normalize(name).replace(/(.)\/$/, "$1");
    const { path: source } = await mayBeShown(plain, rules).catch((error: Error) => {
      throw new Error(`${SETTING} cannot show ${name}: ${error.message}`, { cause: error });
    });
    // Shown under the name that commands use, and under the real path, to which links inside may lead.
    shown.push({ source, path: source }, { source, path: plain });
  }
  const needed = shown.filter(({ path }) => !ALWAYS_SHOWN.some((folder) => isInside(path, folder)));
  return needed.filter(
    ({ path }, at) => !needed.some((other, i) => isInside(path, other.path) && (i < at || other.path !== path)),
  );
}

async function mayBeShown(named: string, rules: ReadableRules): Promise<HostFolder> {
  refusePlace(named);
  const folder = await existing(named);
  refusePlace(folder.path);
  await refuseDisguised(named, folder);
  for (const own of rules.own) await refuseData(named, folder, own);
  const key = KEYS.find((name) => folder.path.split("/").includes(name)) ?? (await keysIn(folder.path));
  if (key !== undefined)
    throw new StartRefused(
      `keys are kept in its ${key}, which no program may see: name the one folder in it that is needed`,
    );
  if (rules.asAnother && ((await stat(folder.path)).mode & OTHERS_MAY_READ) !== OTHERS_MAY_READ)
    throw new StartRefused(`it cannot be read by others, and programs run as a user of their own: chmod o+rX ${named}`);
  const socket = await socketIn(folder.path);
  if (socket)
    throw new StartRefused(
      `it holds a socket, ${socket}, by which a program could talk to what listens there: name a folder without one`,
    );
  return folder;
}

function refusePlace(path: string): void {
  const never = NEVER.find((folder) => isInside(path, folder));
  if (never) throw new StartRefused(`it is part of ${never}, which is the machine's own: name another folder`);
  if (NEVER_WHOLE.includes(path))
    throw new StartRefused(`all of ${path} is too much: name the folder below it that is needed`);
  const own = PROGRAMS_OWN.find((folder) => isInside(path, folder) || isInside(folder, path));
  if (own)
    throw new StartRefused(`every program has a ${own} of its own: move the folder to another place, such as /srv`);
}

async function keysIn(folder: string): Promise<string | undefined> {
  const names = await readdir(folder);
  return KEYS.find((name) => names.includes(name));
}

/**
 * Why a volume cannot be mounted at one of these paths. At or above a shown folder it would hide that folder, and below one it cannot be
 * mounted.
 */
export function refusedOver(paths: readonly string[], shown: readonly ShownFolder[]): string | undefined {
  for (const path of paths) {
    const met = shown.find((folder) => isInside(folder.path, path) || isInside(path, folder.path));
    if (met)
      return `nothing can be mounted at '${path}': programs on the host have the machine's own ${met.path}; choose another folder, such as /workspace`;
  }
  return undefined;
}
