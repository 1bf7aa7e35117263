/** The disks of programs that stay, such as Pods: on disk, held to their size where that can be done, and kept until the instance is removed. */
import { chmod, rm } from "node:fs/promises";
import { join } from "node:path";
import type { InstanceFolder } from "./instance-folder.ts";
import type { VolumeImages } from "./volume-images.ts";

/** Beside the instances' folders; names that begin with a dot are the driver's. */
export const DISKS = ".disks";

export class Scratches {
  readonly #parent: string;
  readonly #images: VolumeImages | undefined;
  readonly #warn: (text: string) => void;

  /** `instances`: where instances are kept. */
  constructor(instances: string, images: VolumeImages | undefined, warn: (text: string) => void) {
    this.#parent = join(instances, DISKS);
    this.#images = images;
    this.#warn = warn;
  }

  /** The folder of an instance's disk, with what it wrote there before. */
  async place(id: string, folder: InstanceFolder, diskGb: number): Promise<string> {
    if (!this.#images || (await folder.hasScratch())) return folder.makeScratch();
    const isNew = !(await this.#images.list()).includes(id);
    try {
      await this.#images.make(id, diskGb);
      const place = await this.#images.mount(id);
      await chmod(place, 0o1777);
      return place;
    } catch (error) {
      // A new one in its place would hide what the program wrote.
      if (!isNew) throw error;
      await this.remove(id);
      this.#warn(`the disk of ${id} is not held to its size: ${(error as Error).message}`);
      return folder.makeScratch();
    }
  }

  async remove(id: string): Promise<void> {
    if (!this.#images) return;
    await this.#images.remove(id);
    await rm(join(this.#parent, id), { recursive: true, force: true });
  }

  /** Of instances that are no more. */
  async sweep(isKnown: (id: string) => boolean): Promise<void> {
    for (const id of (await this.#images?.list()) ?? []) if (!isKnown(id)) await this.remove(id);
  }
}
