/** Steps through a folder that others change at the same time: each one name further from a folder that is held open, and along no link. */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open } from "node:fs/promises";
import { type FilePath, FileRefused, isNoName, noName } from "../../ports/files/files.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Opens the thing itself and nothing of what it stands for: no device hears of it, and no pipe waits. */
const O_PATH = 0o10000000;
const LOOK = O_PATH | constants.O_NOFOLLOW;

/** Programs of every user share a volume, and nobody else can walk to it. */
const FOLDER_MODE = 0o777;
export const FILE_MODE = 0o666;

/** As `openat` does, which Node has not: what a path leads to cannot change between a look and what is done. */
export const within = ({ fd }: FileHandle, name: string) => `/proc/self/fd/${fd}/${name}`;
const itself = ({ fd }: FileHandle) => `/proc/self/fd/${fd}`;

/** The top of the volume, which is the server's own to know. */
export const openTop = (path: string): Promise<FileHandle> => open(path, FOLDER);

/** The folder at a path below; undefined where there is none. The caller closes it. */
export async function openFolder(top: FileHandle, path: FilePath, make = false): Promise<FileHandle | undefined> {
  const wrong = path.find(isNoName);
  if (wrong !== undefined && make) throw noName(wrong);
  if (wrong !== undefined) return undefined;
  let folder = await open(itself(top), constants.O_RDONLY | constants.O_DIRECTORY);
  for (const name of path) {
    const next = await stepInto(folder, name, make).finally(() => folder.close());
    if (!next) return undefined;
    folder = next;
  }
  return folder;
}

async function stepInto(folder: FileHandle, name: string, make: boolean): Promise<FileHandle | undefined> {
  const path = within(folder, name);
  try {
    return await open(path, FOLDER);
  } catch (error) {
    if (!make && isNothing(error)) return undefined;
    if (codeOf(error) !== "ENOENT") throw refusalOf(error, `'${name}' is not a folder`);
  }
  await mkdir(path).catch((error) => {
    if (codeOf(error) !== "EEXIST") throw refusalOf(error, `the folder '${name}' cannot be made`);
  });
  const made = await open(path, FOLDER).catch((error) => {
    throw refusalOf(error, `'${name}' is not a folder`);
  });
  // Whatever the process takes from the modes of what it makes.
  await made.chmod(FOLDER_MODE).catch(ifForbidden);
  return made;
}

/** What is there under a name, held so that it stays that; undefined where there is neither a file nor a folder. */
export async function look(folder: FileHandle, name: string): Promise<FileHandle | undefined> {
  const held = await open(within(folder, name), LOOK).catch((error) => {
    if (isNothing(error)) return undefined;
    throw refusalOf(error, `'${name}' cannot be looked at`);
  });
  if (!held) return undefined;
  const stats = await held.stat();
  if (stats.isFile() || stats.isDirectory()) return held;
  await held.close();
  return undefined;
}

/** To read a file that `look` has found. */
export const reopen = (held: FileHandle): Promise<FileHandle> => open(itself(held), constants.O_RDONLY);

/** For a name whose kind the listing did not tell. */
export async function kindOf(folder: FileHandle, name: string): Promise<"file" | "folder" | undefined> {
  const stats = await lstat(within(folder, name)).catch(() => undefined);
  return stats?.isFile() ? "file" : stats?.isDirectory() ? "folder" : undefined;
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** Nothing that one may open: it is not there, or a link, or below something that is no folder, or longer than any name. */
export const isNothing = (error: unknown) =>
  ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENAMETOOLONG"].includes(codeOf(error) ?? "");

/** Who is not the system's owner cannot change what others made, and need not. */
export function ifForbidden(error: unknown): void {
  if (!["EPERM", "EACCES"].includes(codeOf(error) ?? "")) throw error;
}

/** What the system says, in the words of the port. */
export function refusalOf(error: unknown, what: string): unknown {
  switch (codeOf(error)) {
    case "ENOSPC":
    case "EDQUOT":
      return new FileRefused("full", "The volume is full.", error);
    case "ENOTDIR":
    case "ELOOP":
      return new FileRefused("no-folder", `${what}.`, error);
    case "EISDIR":
    case "EEXIST":
    case "ENOTEMPTY":
      return new FileRefused("taken", `${what}.`, error);
    case "ENAMETOOLONG":
      return new FileRefused("long-name", "A part of the name between two slashes has more than 255 bytes.", error);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new FileRefused("forbidden", `The server may not do that on this volume: ${what}.`, error);
    default:
      return error;
  }
}
