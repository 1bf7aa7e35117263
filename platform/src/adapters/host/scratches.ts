/** The disks of programs that stay, such as Pods: limited in size where possible, and kept until the instance is removed. */
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { DISK_IS_FULL, isFull, roomIn } from "../../ports/disk.ts";
import type { VolumeImages } from "../machine/volume-images.ts";
import { grantedBytes } from "./disk-grant.ts";
import type { InstanceFolder } from "./instance-folder.ts";

/** The disks' folder lies beside the instances' folders. Names that begin with a dot belong to the driver. */
export const DISKS = ".disks";

const GB = 2 ** 30;
const MB = 2 ** 20;

export class Scratches {
  readonly #instances: string;
  readonly #parent: string;
  readonly #making = new OneAtATime();
  readonly #images: VolumeImages | undefined;
  readonly #warn: (text: string) => void;

  /** `instances` is the folder that holds the instances. */
  constructor(instances: string, images: VolumeImages | undefined, warn: (text: string) => void) {
    this.#instances = instances;
    this.#parent = join(instances, DISKS);
    this.#images = images;
    this.#warn = warn;
  }

  /** The folder of an instance's disk, with the files that it wrote before. Throws when the machine's disk has no space for one. */
  async place(id: string, folder: InstanceFolder, diskGb: number): Promise<string> {
    if (!this.#images || (await folder.hasScratch())) return folder.makeScratch();
    const isNew = !(await this.#images.list()).includes(id);
    try {
      await this.#make(this.#images, id, diskGb);
      const place = await this.#images.mount(id);
      await chmod(place, 0o1777);
      return place;
    } catch (error) {
      // A new disk in place of an existing one would hide the program's files, and on a full disk a folder would not help.
      if (!isNew || isFull(error)) throw error;
      await this.remove(id);
      this.#warn(`the disk of ${id} is not held to its size: ${(error as Error).message}`);
      return folder.makeScratch();
    }
  }

  /** Disks are created one after another, since each gets a share of what the earlier ones left. */
  #make(images: VolumeImages, id: string, diskGb: number): Promise<void> {
    return this.#making.run(async () => {
      if (images.sizeOf(id)) return images.make(id, diskGb);
      const room = await roomIn(this.#instances);
      const asked = Math.ceil(diskGb * GB);
      const granted = grantedBytes(asked, { ...room, promisedBytes: await images.promisedBytes() });
      if (granted === undefined) throw Object.assign(new Error(DISK_IS_FULL), { code: "ENOSPC" });
      if (granted < asked)
        this.#warn(
          `the disk of ${id} has ${Math.floor(granted / MB)} MB of ${diskGb} GB: the machine's has no more room`,
        );
      await images.make(id, granted / GB);
    });
  }

  /** How much a disk uses of the machine's disk. Undefined for a folder, whose files would have to be counted. */
  bytesOf(id: string): number | undefined {
    return this.#images?.sizeOf(id)?.takenBytes;
  }

  async remove(id: string): Promise<void> {
    if (!this.#images) return;
    await this.#images.remove(id);
    await rm(join(this.#parent, id), { recursive: true, force: true });
  }

  async close(): Promise<void> {
    await this.#images?.[Symbol.asyncDispose]();
  }

  /** Removes the disks of instances that no longer exist. */
  async sweep(isKnown: (id: string) => boolean): Promise<void> {
    for (const id of (await this.#images?.list()) ?? []) if (!isKnown(id)) await this.remove(id);
  }
}
