/** Images of the form `host` and `host:/abs/dir`: a folder of this machine, run as it is. */
import { realpath, stat } from "node:fs/promises";
import { isAbsolute, relative } from "node:path";
import { StartRefused } from "../compute.ts";

const PREFIX = "host:";
const OTHERS_MAY_ENTER = 0o005;

/** The folder that an image names, as it was written; undefined for `host` alone. */
export function folderIn(image: string): string | undefined {
  if (image === "host") return undefined;
  if (!image.startsWith(PREFIX))
    throw new StartRefused(`'${image}' is a container image: install Docker or Podman to run it, or use host:/folder`);
  const folder = image.slice(PREFIX.length);
  if (!isAbsolute(folder)) throw new StartRefused(`'${image}' names no folder: write host: and an absolute path`);
  return folder;
}

export const isInside = (path: string, folder: string) => {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith("../");
};

/** The real folder of an image, if a program may have it. `forbidden` is what it must never see; `asAnother`: it runs as another user. */
export async function findFolder(image: string, forbidden: string, asAnother: boolean): Promise<string | undefined> {
  const named = folderIn(image);
  if (named === undefined) return undefined;
  const folder = await realpath(named).catch(() => undefined);
  const found = folder === undefined ? undefined : await stat(folder);
  if (!folder || !found?.isDirectory()) throw new StartRefused(`there is no folder ${named} on this machine`);
  if (isInside(forbidden, folder) || isInside(folder, forbidden))
    throw new StartRefused(`${named} holds or is part of the server's data folder, which no program may see`);
  if (asAnother && (found.mode & OTHERS_MAY_ENTER) !== OTHERS_MAY_ENTER)
    throw new StartRefused(
      `${named} cannot be read by others, and programs run as a user of their own: chmod o+rX ${named}`,
    );
  return folder;
}
