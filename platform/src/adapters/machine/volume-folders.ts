/** Volumes as folders of this machine. All of its drivers share one object, so that each knows of the others' users. */
import { access, chmod, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { keepPrivately, readPrivate, replacePrivately } from "../../kernel/private-file.ts";
import type { Random } from "../../kernel/random.ts";
import { type Mount, StartRefused } from "../../ports/compute/compute.ts";
import { VolumeUsers } from "../../ports/compute/volume-users.ts";
import {
  checkGrowth,
  checkMounts,
  checkVolume,
  type FoundVolume,
  isVolumeName,
  type MountedFolder,
  NO_SHARED,
  notHere,
  outermostFirst,
  refuseIfUsed,
  type Volume,
  VolumeRefused,
  type Volumes,
  type VolumeUsage,
} from "../../ports/compute/volumes.ts";
import { marginOf, roomIn } from "../../ports/disk.ts";
import type { Files } from "../../ports/files/files.ts";
import { FolderFiles } from "../files/folder-files.ts";
import { runTool } from "./forker.ts";
import type { VolumeImages } from "./volume-images.ts";

/** These lie beside the volumes. No volume's name begins with a dot. */
const RECORDS = ".records";
const REMOVED = ".removed-";
const GB = 2 ** 30;
/** How long a counted size stays valid. */
const COUNT_AGAIN_MS = 10_000;
/** Counts in a separate process with a time limit. Files that are removed meanwhile are no error. */
const COUNT = 'timeout 15 du --summarize --one-file-system --block-size=1 -- "$1" 2>/dev/null || true';

export interface VolumeFoldersParts {
  /** The folder on this machine's own disk. */
  folder: string;
  /** The folder on storage that other machines also have. */
  shared?: string | undefined;
  clock: Clock;
  random: Random;
  /** Limits the sizes of volumes on this machine's own disk. Without it, volumes are plain folders without a limit. */
  images?: VolumeImages | undefined;
  /** Receives the reason why a volume is a plain folder although it should have a file system of its own. */
  warn?: (text: string) => void;
}

/**
 * The stored record of a volume. `image` says that the volume has a file system of its own; it is absent for plain folders and in records
 * of earlier releases.
 */
type KeptVolume = { sizeGb: number; image?: boolean };

interface Count {
  at: number;
  bytes: Promise<number | undefined>;
}

/** A volume, with the one of the two folders that holds it. */
interface Placed extends FoundVolume {
  root: string;
}

export class VolumeFolders implements Volumes {
  /** The folder on this machine's own disk. */
  readonly folder: string;
  readonly #shared: string | undefined;
  readonly #images: VolumeImages | undefined;
  readonly #warn: (text: string) => void;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #changes = new OneAtATime();
  readonly #counts = new Map<string, Count>();
  readonly sizes: boolean;
  readonly shared: boolean;
  /** Every driver that uses these volumes reports its instances here. */
  readonly users = new VolumeUsers();

  constructor({ folder, shared, clock, random, images, warn = () => {} }: VolumeFoldersParts) {
    this.#images = images;
    this.#warn = warn;
    this.folder = folder;
    this.#shared = shared;
    this.sizes = images !== undefined;
    this.shared = shared !== undefined;
    this.#clock = clock;
    this.#random = random;
  }

  get #roots(): string[] {
    return this.#shared === undefined ? [this.folder] : [this.folder, this.#shared];
  }

  /** Removes volumes that an earlier process had no time to delete. */
  async sweep(): Promise<void> {
    for (const root of this.#roots) {
      const names = await readdir(root).catch(ifNotThere([]));
      for (const name of names) if (name.startsWith(REMOVED)) await deleteIn(root, name);
    }
    // Only on this machine's own disk: on shared storage other machines may be writing such files now.
    const records = new Set<string>(await readdir(join(this.folder, RECORDS)).catch(ifNotThere([])));
    for (const name of records) if (!isVolumeName(name)) await deleteIn(this.folder, join(RECORDS, name));
    // The record is written last and removed first, so an image without a record is not a volume.
    for (const id of (await this.#images?.list()) ?? []) if (!records.has(id)) await this.#clear(this.folder, id);
  }

  create(volume: Volume): Promise<void> {
    return this.#changes.run(async () => {
      checkVolume(volume);
      const root = volume.shared ? this.#shared : this.folder;
      if (root === undefined) throw new VolumeRefused(NO_SHARED);
      if (root === this.#shared) await access(root).catch(ifUnmounted(root));
      if (await this.#locate(volume.id)) return;
      const image = root === this.folder && (await this.#makeImage(volume));
      if (!image) await ensureFolder(root, volume.id);
      // The record is written last: once it exists, the volume exists and is complete.
      await mkdir(join(root, RECORDS), { recursive: true, mode: 0o700 });
      const { sizeGb } = volume;
      await keepPrivately(recordIn(root, volume.id), textOf({ sizeGb, ...(image && { image }) }));
    });
  }

  /** Returns false where the volume should be a plain folder. */
  async #makeImage({ id, sizeGb }: Volume): Promise<boolean> {
    if (!this.#images) return false;
    try {
      await this.#images.make(id, sizeGb);
      return true;
    } catch (error) {
      await this.#images.remove(id);
      this.#warn(`volume ${id} is not held to its size: ${(error as Error).message}`);
      return false;
    }
  }

  grow(id: string, sizeGb: number): Promise<void> {
    return this.#changes.run(async () => {
      const volume = await this.#known(id);
      checkGrowth(volume, sizeGb);
      if (volume.sizeGb === sizeGb) return;
      const image = volume.sizeEnforced;
      if (image) await this.#imagesFor(id).grow(id, sizeGb);
      await replacePrivately(recordIn(volume.root, id), textOf({ sizeGb, ...(image && { image }) }));
    });
  }

  async remove(id: string): Promise<void> {
    // Such a name could lead to another folder.
    if (!isVolumeName(id)) return;
    await this.#changes.run(async () => {
      const volume = await this.#locate(id);
      refuseIfUsed(id, await this.users.of(id));
      // Without its record nobody can mount the volume any more. An instance that began to mount it earlier is visible by now.
      for (const root of this.#roots) await rm(recordIn(root, id), { force: true });
      try {
        refuseIfUsed(id, await this.users.of(id));
      } catch (error) {
        const { sizeGb, sizeEnforced: image } = volume ?? { sizeGb: 0, sizeEnforced: false };
        if (volume) await keepPrivately(recordIn(volume.root, id), textOf({ sizeGb, ...(image && { image }) }));
        throw error;
      }
      for (const root of this.#roots) await this.#clear(root, id);
    });
  }

  async #clear(root: string, id: string): Promise<void> {
    this.#counts.delete(id);
    if (root === this.folder) await this.#images?.remove(id);
    const name = `${REMOVED}${id}`;
    await deleteIn(root, name);
    await rename(join(root, id), join(root, name)).catch(ifNotThere(undefined));
    await deleteIn(root, name);
  }

  async usage(id: string): Promise<VolumeUsage> {
    const volume = await this.#known(id);
    const { sizeGb } = volume;
    const usedBytes = await this.#count(id, await this.#folderOf(volume));
    return { sizeGb, ...(usedBytes !== undefined && { usedBytes }) };
  }

  /** Counts each volume only once at a time, however many callers ask. */
  #count(id: string, folder: string): Promise<number | undefined> {
    const now = this.#clock.monotonic();
    const known = this.#counts.get(id);
    if (known && now - known.at < COUNT_AGAIN_MS) return known.bytes;
    const bytes = runTool("/bin/sh", ["-c", COUNT, "count", folder]).then(bytesIn, () => undefined);
    this.#counts.set(id, { at: now, bytes });
    return bytes;
  }

  async list(): Promise<FoundVolume[]> {
    const names = await Promise.all(this.#roots.map((root) => readdir(join(root, RECORDS)).catch(ifNotThere([]))));
    const ids = new Set(names.flat().filter(isVolumeName));
    const found = await Promise.all([...ids].map((id) => this.find(id)));
    return found.filter((volume) => volume !== undefined);
  }

  async find(id: string): Promise<FoundVolume | undefined> {
    const placed = await this.#locate(id);
    if (!placed) return undefined;
    const { root: _, ...volume } = placed;
    return volume;
  }

  async files(id: string): Promise<Files | undefined> {
    const found = await this.#locate(id);
    if (!found) return undefined;
    const bytesLeft = () => this.#bytesLeft(id);
    return new FolderFiles(await this.#folderOf(found), this.#random, bytesLeft, () => this.#diskLeft(found.root));
  }

  /** How much still fits on a volume whose size nothing else limits. Undefined where something does, or where it cannot be known. */
  async #bytesLeft(id: string): Promise<number | undefined> {
    if ((await this.#locate(id))?.sizeEnforced !== false) return undefined;
    const { sizeGb, usedBytes } = await this.usage(id);
    return usedBytes === undefined ? undefined : sizeGb * GB - usedBytes;
  }

  /** How much of the data folder's disk files may still use; its last part is reserved for records. Other disks are not limited. */
  async #diskLeft(root: string): Promise<number> {
    const data = dirname(this.folder);
    const [own, other] = await Promise.all([stat(data), stat(root)]);
    if (own.dev !== other.dev) return Number.POSITIVE_INFINITY;
    const room = await roomIn(data);
    return room.freeBytes - marginOf(room);
  }

  /** The folders of these mounts. `reserved` are system paths that the driver itself provides. */
  async mounted(mounts: readonly Mount[] = [], reserved: readonly string[] = []): Promise<MountedFolder[]> {
    checkMounts(mounts, reserved);
    return Promise.all(
      outermostFirst(mounts).map(async ({ volume, path, readOnly = false }) => {
        const found = await this.#locate(volume);
        if (!found) throw new StartRefused(notHere(volume), { reason: "volume-missing" });
        return { source: await this.#folderOf(found), path, ...(readOnly && { readOnly }) };
      }),
    );
  }

  /**
   * Unmounts the volumes that no instance uses before the server ends, so that they only take disk space. A volume whose users are unknown
   * stays mounted.
   */
  async rest(): Promise<void> {
    for (const id of this.#images ? await this.#images.list() : []) {
      const users = await this.users.of(id).catch(() => undefined);
      if (users?.length === 0) await this.#images?.rest(id);
    }
  }

  /**
   * How much a volume uses of this machine's own disk: 0 on shared storage, undefined for a plain folder, whose files would have to be
   * counted.
   */
  async ownBytes(id: string): Promise<number | undefined> {
    const found = await this.#locate(id);
    if (!found || found.root !== this.folder) return 0;
    return found.sizeEnforced ? (this.#images?.sizeOf(id)?.takenBytes ?? 0) : undefined;
  }

  /** Makes the kernel write the volume's pending data, or fail for lack of space. */
  async flush(id: string): Promise<void> {
    const folder = await this.folderOf(id).catch(() => undefined);
    if (folder !== undefined) await runTool("sync", ["--file-system", folder]).catch(() => undefined);
  }

  /** Undefined where there is no such volume. */
  async folderOf(id: string): Promise<string | undefined> {
    const found = await this.#locate(id);
    return found && this.#folderOf(found);
  }

  #folderOf({ id, root, sizeEnforced }: Placed): Promise<string> {
    return sizeEnforced ? this.#imagesFor(id).mount(id) : ensureFolder(root, id);
  }

  /** A plain folder in place of the file system would hide its contents. */
  #imagesFor(id: string): VolumeImages {
    if (this.#images) return this.#images;
    throw new VolumeRefused(
      `volume ${id} has a file system of its own, which this server cannot mount: start it as before`,
    );
  }

  async #known(id: string): Promise<Placed> {
    const volume = await this.#locate(id);
    if (!volume) throw new VolumeRefused(notHere(id));
    return volume;
  }

  async #locate(id: string): Promise<Placed | undefined> {
    if (!isVolumeName(id)) return undefined;
    for (const root of this.#roots) {
      const text = await readPrivate(recordIn(root, id)).catch(ifNotThere(undefined));
      if (text === undefined) continue;
      const { sizeGb, image = false } = JSON.parse(text) as KeptVolume;
      return { id, sizeGb, ...(root === this.#shared && { shared: true }), sizeEnforced: image, root };
    }
    return undefined;
  }
}

const textOf = (kept: KeptVolume) => JSON.stringify(kept);

const recordIn = (root: string, id: string) => join(root, RECORDS, id);

async function deleteIn(root: string, name: string): Promise<void> {
  await rm(join(root, name), { recursive: true, force: true });
}

/** A folder made in the place of the storage would be on this machine's own disk, and out of sight once the storage is mounted again. */
const ifUnmounted =
  (root: string) =>
  (cause: NodeJS.ErrnoException): never => {
    throw new Error(`${unmountedText(root)} (${cause.code})`, { cause });
  };

export const unmountedText = (root: string): string =>
  `the folder ${root}, which MILLRACE_VOLUMES names, is not there: mount its storage, or make it there`;

/** Programs run as any user, so the folder is open to all. Only the server can reach it, through the parent folder. */
async function ensureFolder(root: string, id: string): Promise<string> {
  const folder = join(root, id);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // `mkdir` with this mode would also open the parent folder. It is set each time, since a server may have ended between the two steps.
  await chmod(folder, 0o777);
  return folder;
}

function bytesIn(text: string): number | undefined {
  const [, bytes] = /^(\d+)\s/.exec(text) ?? [];
  return bytes === undefined ? undefined : Number(bytes);
}
