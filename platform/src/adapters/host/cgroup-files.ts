/** Reads and writes the files of control groups, which can disappear at any time. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { readdir, rmdir, writeFile } from "node:fs/promises";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { readKernelFile } from "../machine/kernel-file.ts";

export interface CgroupMount {
  /** Where the hierarchy is mounted. */
  at: string;
  /** The folder of the hierarchy that is visible there. */
  root: string;
  /** The mount options, which name the controllers of a version 1 hierarchy. */
  options: string[];
}

/** The mounts of one file system type, from the text of `mountinfo`. */
export function mountsOf(mountinfo: string, type: "cgroup" | "cgroup2"): CgroupMount[] {
  return mountinfo.split("\n").flatMap((line) => {
    const [before, after] = line.split(" - ");
    const [, , , root, at] = before!.split(" ");
    const [found, , options] = (after ?? "").split(" ");
    return found === type ? [{ at: plain(at!), root: plain(root!), options: options!.split(",") }] : [];
  });
}

/** `mountinfo` writes spaces and other special characters as octal numbers. */
const plain = (path: string) =>
  path.replace(/\\(\d{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));

/** The path of this process in a hierarchy, from the text of `/proc/self/cgroup`. Version 2 has an empty list of controllers. */
export function ownPath(text: string, controller: string): string | undefined {
  for (const line of text.split("\n")) {
    const [, controllers, ...path] = line.split(":");
    if (controllers?.split(",").includes(controller)) return path.join(":");
  }
  return undefined;
}

/** The folder where a group is visible, or undefined when it lies outside of the mount. */
export function seenAt({ at, root }: CgroupMount, path: string): string | undefined {
  if (root === "/") return path === "/" ? at : `${at}${path}`;
  if (path === root) return at;
  return path.startsWith(`${root}/`) ? `${at}${path.slice(root.length)}` : undefined;
}

const isGone = (error: NodeJS.ErrnoException) => error.code === "ENOENT" || error.code === "ENODEV";

/**
 * The text of a file, or an empty text when its group is gone. The read is synchronous: the kernel produces the text in microseconds, and
 * the thread pool would take ten times as long, for several files of each of hundreds of instances.
 */
export async function readIfThere(file: string): Promise<string> {
  return readNowIfThere(file, (one) => readFileSync(one, "utf8"));
}

/** The same for a file that the kernel hands out in one piece, as all of them but lists of processes. */
export function readNowIfThere(file: string, read = readKernelFile): string {
  try {
    return read(file);
  } catch (error) {
    if (isGone(error as NodeJS.ErrnoException)) return "";
    throw error;
  }
}

/** Writes to a file of a group. A file that is gone is no error. */
export async function writeIfThere(file: string, text: string): Promise<void> {
  // Without `O_CREAT`, since only the kernel creates files there.
  await writeFile(file, text, { flag: "r+" }).catch((error) => {
    if (!isGone(error)) throw error;
  });
}

export const write = (file: string, text: string) => writeFile(file, text, { flag: "r+" });

/** Like `write`, at once, for limits that nobody reaches yet: these calls take microseconds, and a start waits for a dozen of them. */
export const writeNow = (file: string, text: string) => writeFileSync(file, text, { flag: "r+" });

/** Like `writeIfThere`, at once, for a thaw: a job waits for it, and three turns of the thread pool would take longer than the write. */
export function writeNowIfThere(file: string, text: string): void {
  try {
    writeNow(file, text);
  } catch (error) {
    if (!isGone(error as NodeJS.ErrnoException)) throw error;
  }
}

export async function makeFolder(folder: string): Promise<void> {
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

export async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    if (isGone(error)) return [];
    throw error;
  });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

const LOOK_AGAIN_MS = 2;
const PATIENCE_MS = 10_000;

/** Repeats until `happened` resolves to true, since the kernel sends no notification for these changes. */
export async function until(clock: Clock, what: string, happened: () => Promise<boolean>): Promise<void> {
  const untilMs = clock.monotonic() + PATIENCE_MS;
  while (!(await happened())) {
    if (clock.monotonic() > untilMs) throw new Error(`${what} took longer than ${PATIENCE_MS / 1000} s`);
    await sleep(clock, LOOK_AGAIN_MS);
  }
}

/** Removes a group. A group whose last process is just ending is busy for a moment. */
export async function removeFolder(clock: Clock, folder: string): Promise<void> {
  await until(clock, `removing the control group ${folder}`, async () => {
    try {
      await rmdir(folder);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return true;
      if (code === "EBUSY") return false;
      throw error;
    }
  });
}
