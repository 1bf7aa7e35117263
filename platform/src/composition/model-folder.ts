/** Opens a folder of this machine whose files become a model. */

import { FolderFiles } from "../adapters/files/folder-files.ts";
import { findFolder } from "../adapters/host/host-folder.ts";
import type { Random } from "../kernel/random.ts";
import type { Files } from "../ports/files/files.ts";
import type { Settings } from "../settings/settings.ts";

const OTHERS_MAY_READ = 0o4n;

/**
 * The same folders as those of host images: never one of the system, nor the data folder. A server that is root could read everything, so
 * it reads only files that are open to others: a model is shown to programs, and nothing else should come to them this way.
 */
export const modelFolders =
  ({ data, hostRoots }: Pick<Settings, "data" | "hostRoots">, random: Random) =>
  async (path: string): Promise<Files> => {
    const rules = { data, asAnother: true, ...(hostRoots && { roots: hostRoots }) };
    const folder = await findFolder(`host:${path}`, rules, true);
    const isOpen = ({ mode }: { mode: bigint }) => (mode & OTHERS_MAY_READ) !== 0n;
    return new FolderFiles(folder!.path, random, undefined, undefined, isOpen);
  };
