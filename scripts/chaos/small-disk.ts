/** A disk of its own that can be filled to the last byte: a file system in a sparse file, which takes no room before it is used. */
import { execFile } from "node:child_process";
import { mkdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const MIB = 1024 * 1024;
const FILLER = "filler";

export class SmallDisk implements AsyncDisposable {
  readonly folder: string;
  readonly #image: string;

  private constructor(folder: string, image: string) {
    this.folder = folder;
    this.#image = image;
  }

  static async make(folder: string, gigabytes: number): Promise<SmallDisk> {
    const image = `${folder}.image`;
    await run("truncate", ["--size", `${gigabytes}G`, image]);
    await run("mkfs.ext4", ["-q", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1", image]);
    await mkdir(folder, { recursive: true });
    await run("mount", ["-o", "loop", image, folder]);
    return new SmallDisk(folder, image);
  }

  async fill(): Promise<void> {
    const { bavail, bsize } = await statfs(this.folder);
    const filler = join(this.folder, FILLER);
    // Reserved blocks need not be written.
    await run("fallocate", ["--length", String(Math.max(MIB, bavail * bsize - 16 * MIB)), filler]).catch(() => {});
    await writeFile(filler, Buffer.alloc(32 * MIB, 1), { flag: "a" }).catch(() => {});
    await writeFile(filler, Buffer.alloc(4096, 1), { flag: "a" }).catch(() => {});
  }

  makeRoom = () => rm(join(this.folder, FILLER), { force: true });

  async [Symbol.asyncDispose](): Promise<void> {
    await run("umount", ["--lazy", this.folder]);
    await rm(this.#image, { force: true });
  }
}
