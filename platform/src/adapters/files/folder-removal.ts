/** Removes a folder with all that it holds, while programs change it: names are taken away, and nothing that they lead to. */
import { type FileHandle, opendir, rmdir, unlink } from "node:fs/promises";
import { FileRefused, type Removed } from "../../ports/files/files.ts";
import { isNothing, openIfFolder, refusalOf, within } from "./folder-steps.ts";

/** Each level of folders holds a file descriptor open. */
const DEEPEST = 64;
const READ_AT_ONCE = 512;

/** Removes up to `most` names: what is at `name`, and everything below it first. */
export async function removeTree(folder: FileHandle, name: string, most: number): Promise<Removed> {
  const removal = new Removal(most);
  const isWhole = await removal.remove(folder, Buffer.from(name), 0);
  await folder.sync();
  return { count: removal.count, isWhole };
}

class Removal {
  readonly #most: number;
  count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns whether the name is gone. Names are bytes here, since programs use some that are not valid text. */
  async remove(folder: FileHandle, name: Buffer, depth: number): Promise<boolean> {
    if (this.count >= this.#most) return false;
    const path = Buffer.concat([Buffer.from(within(folder, "")), name]);
    await using inside = await openIfFolder(path);
    if (inside && depth >= DEEPEST)
      throw new FileRefused("forbidden", `A folder more than ${DEEPEST} folders deep is not removed from here.`);
    if (inside && !(await this.#empty(inside, depth + 1))) return false;
    if (this.count >= this.#most) return false;
    return this.#take(path, inside !== undefined);
  }

  async #empty(folder: FileHandle, depth: number): Promise<boolean> {
    for await (const { name } of await opendir(within(folder, "."), {
      encoding: "buffer" as BufferEncoding,
      bufferSize: READ_AT_ONCE,
    }))
      if (!(await this.remove(folder, name as unknown as Buffer, depth))) return false;
    return true;
  }

  async #take(path: Buffer, isFolder: boolean): Promise<boolean> {
    try {
      // Neither of them follows a link.
      await (isFolder ? rmdir(path) : unlink(path));
      this.count++;
      return true;
    } catch (error) {
      if (isNothing(error)) return true;
      // A program put something there meanwhile: the next call removes that too.
      if (["ENOTEMPTY", "EEXIST", "EISDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
      throw refusalOf(error, "something in the folder cannot be removed");
    }
  }
}
