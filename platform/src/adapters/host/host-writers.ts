/** How much of the data folder's disk programs of the host use, and how a program that fills the disk is ended. */
import { readdirSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ifNotThere } from "../../kernel/not-there.ts";
import { inSlices } from "../../kernel/slices.ts";
import type { DiskWriter, DiskWriters } from "../../ports/compute/writers.ts";
import type { VolumeFolders } from "../machine/volume-folders.ts";
import type { HostInstance } from "./host-instance.ts";
import { isSegment } from "./output-file.ts";
import type { Scratches } from "./scratches.ts";

/** The size of the blocks that `stat` counts. */
const BLOCK = 512;
/** So many programs take a millisecond or two. */
const IN_ONE_TURN = 50;

export interface HostWritersParts {
  /** The folder of the instances, and the folder of the volumes. */
  folder: string;
  volumesFolder: string;
  instances: ReadonlyMap<string, HostInstance>;
  scratches: Scratches;
  volumes: VolumeFolders;
  sandboxed: boolean;
  writableApp: boolean;
}

export class HostWriters implements DiskWriters {
  readonly #parts: HostWritersParts;

  constructor(parts: HostWritersParts) {
    this.#parts = parts;
  }

  async list(): Promise<DiskWriter[]> {
    const { instances, folder, volumesFolder } = this.#parts;
    const running = [...instances.values()].filter(({ isEnded }) => !isEnded);
    const countsVolumes = running.length > 0 && (await areOnOneDisk(folder, volumesFolder));
    const writers: DiskWriter[] = [];
    await inSlices(running, IN_ONE_TURN, async (instance) => {
      const bytes = await this.#bytesOf(instance, countsVolumes);
      writers.push({ id: instance.id, ...(bytes !== undefined && { bytes }) });
    });
    return writers;
  }

  async end(id: string, reason: string): Promise<void> {
    const instance = this.#parts.instances.get(id);
    if (!instance || instance.isEnded) return;
    await instance.endFor(reason);
    await Promise.all([this.#parts.scratches.remove(id), instance.folder.removeScratch()]);
    // Data of a volume that the kernel has not written yet is written, or fails, before anyone relies on the free space.
    for (const volume of instance.kept.volumes ?? []) await this.#parts.volumes.flush(volume);
  }

  /** Undefined for an instance that writes to places that are not counted. */
  async #bytesOf(instance: HostInstance, countsVolumes: boolean): Promise<number | undefined> {
    const { sandboxed, writableApp, scratches, volumes } = this.#parts;
    const { kind, image, volumes: mounted = [] } = instance.kept;
    if (!sandboxed) return undefined;
    const app = image.slice("host:".length);
    if (writableApp && app !== "" && (await areOnOneDisk(instance.folder.path, app))) return undefined;
    const sizes = (countsVolumes ? mounted : []).map((volume) => volumes.ownBytes(volume));
    let sum = outputOf(instance);
    for (const size of [kind === "worker" ? 0 : scratches.bytesOf(instance.id), ...(await Promise.all(sizes))]) {
      if (size === undefined) return undefined;
      sum += size;
    }
    return sum;
  }
}

/** At once, since the thread pool would take ten times as long for each of hundreds of programs. */
function outputOf({ folder }: HostInstance): number {
  const names = namesIn(folder.path).filter(isSegment);
  return names.reduce((sum, name) => sum + bytesOnDisk(join(folder.path, name)), 0);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    return ifNotThere<string[]>([])(error as NodeJS.ErrnoException);
  }
}

const bytesOnDisk = (file: string) => (statSync(file, { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK;

async function areOnOneDisk(one: string, other: string): Promise<boolean> {
  const [first, second] = await Promise.all([one, other].map((path) => stat(path).catch(ifNotThere(undefined))));
  return first?.dev === second?.dev;
}
