/** Walks through a folder that others change meanwhile: each step starts at a folder that is held open and follows no link. */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open } from "node:fs/promises";
import { type FilePath, FileRefused, isNoName, noName } from "../../ports/files/files.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Opens the entry itself without using it: a device is not activated, and opening a pipe does not block. */
const O_PATH = 0o10000000;
const LOOK = O_PATH | constants.O_NOFOLLOW;

/** Programs of any user share a volume. Nobody else can reach its folder. */
const FOLDER_MODE = 0o777;
export const FILE_MODE = 0o666;

/** Replaces `openat`, which Node lacks. The path starts at an open folder, so nobody can redirect it between a check and its use. */
export const within = ({ fd }: FileHandle, name: string) => `/proc/self/fd/${fd}/${name}`;
const itself = ({ fd }: FileHandle) => `/proc/self/fd/${fd}`;

/** Opens the top of the volume. Its path is trusted, since only the server decides it. */
export const openTop = (path: string): Promise<FileHandle> => open(path, FOLDER);

/** The folder at a path below `top`, or undefined where there is none. The caller closes it. */
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

/** Opens a folder at a place below one that is held open. Undefined if something else is there, such as a link, or nothing. */
export async function openIfFolder(path: Buffer): Promise<FileHandle | undefined> {
  return open(path, FOLDER).catch((error) => {
    if (isNothing(error)) return undefined;
    throw refusalOf(error, "a folder cannot be opened");
  });
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
  // The process's umask may have removed rights at creation.
  await made.chmod(FOLDER_MODE).catch(ifForbidden);
  return made;
}

/** Opens the entry under a name so that it can no longer be swapped. Undefined if it is neither a file nor a folder. */
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

/** Opens a file that `look` has found for reading. */
export const reopen = (held: FileHandle): Promise<FileHandle> => open(itself(held), constants.O_RDONLY);

/** For a name whose kind the directory listing did not report. */
export async function kindOf(folder: FileHandle, name: string): Promise<"file" | "folder" | undefined> {
  const stats = await lstat(within(folder, name)).catch(() => undefined);
  return stats?.isFile() ? "file" : stats?.isDirectory() ? "folder" : undefined;
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** Nothing there can be opened: it does not exist, is a link, lies below something that is not a folder, or its name is too long. */
export const isNothing = (error: unknown) =>
  ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "ENAMETOOLONG"].includes(codeOf(error) ?? "");

/** Only root can change the files of other users. For other servers the change is not necessary. */
export function ifForbidden(error: unknown): void {
  if (!["EPERM", "EACCES"].includes(codeOf(error) ?? "")) throw error;
}

/** Translates a system error into a refusal of the port. */
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
