/** Moves a name from one folder that is held open to another, over nothing that is there. */
import { type FileHandle, link, lstat, rename, unlink } from "node:fs/promises";
import { isNothing, refusalOf, within } from "./folder-steps.ts";

interface Named {
  folder: FileHandle;
  name: string;
}

/** A file never replaces what a program put there meanwhile. A folder at most replaces one that is empty. */
export async function moveWithin(from: Named, to: Named, isFolder: boolean): Promise<void> {
  const [source, target] = [within(from.folder, from.name), within(to.folder, to.name)];
  try {
    if (await isSomething(target)) throw Object.assign(new Error("taken"), { code: "EEXIST" });
    if (isFolder) await rename(source, target);
    else {
      await link(source, target);
      await unlink(source);
    }
    await to.folder.sync();
    await from.folder.sync();
  } catch (error) {
    throw refusalOf(error, `something is at '${to.name}' already`);
  }
}

async function isSomething(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isNothing(error)) return false;
    throw error;
  }
}
