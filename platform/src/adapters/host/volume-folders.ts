/** Volumes as folders of this machine: the same for programs and for containers, which share one folder of them. */
import { chmod, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { keepPrivately, readPrivate, replacePrivately } from "../../kernel/private-file.ts";
import { type Mount, StartRefused } from "../../ports/compute/compute.ts";
import {
  checkGrowth,
  checkMounts,
  checkVolume,
  isVolumeName,
  type MountedFolder,
  notHere,
  refuseIfUsed,
  type UsersOf,
  type Volume,
  VolumeRefused,
  type Volumes,
  type VolumeUsage,
} from "../../ports/compute/volumes.ts";
import { runTool } from "./forker.ts";

/** Beside the volumes; no volume's name begins with a dot. */
const RECORDS = ".records";
const REMOVED = ".removed-";
/** How long a count is as good as a new one. */
const COUNT_AGAIN_MS = 10_000;
/** In a process of its own, which ends in time. What is removed meanwhile is no failure. */
const COUNT = 'timeout 15 du --summarize --one-file-system --block-size=1 -- "$1" 2>/dev/null || true';

interface Count {
  at: number;
  bytes: Promise<number | undefined>;
}

export class VolumeFolders implements Volumes {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #changes = new OneAtATime();
  readonly #counts = new Map<string, Count>();
  readonly usersOf: UsersOf;

  constructor({ folder, clock, usersOf }: { folder: string; clock: Clock; usersOf: UsersOf }) {
    this.#folder = folder;
    this.#clock = clock;
    this.usersOf = usersOf;
  }

  /** Removes what a process before this one had no time to. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#folder).catch(ifNotThere([]));
    for (const name of names) if (name.startsWith(REMOVED)) await this.#delete(name);
    const records = await readdir(join(this.#folder, RECORDS)).catch(ifNotThere([]));
    for (const name of records) if (!isVolumeName(name)) await this.#delete(join(RECORDS, name));
  }

  create(volume: Volume): Promise<void> {
    return this.#changes.run(async () => {
      checkVolume(volume);
      await this.#ensure(volume.id);
      // The record last: with it the volume is there, and whole.
      await mkdir(join(this.#folder, RECORDS), { recursive: true, mode: 0o700 });
      await keepPrivately(this.#record(volume.id), JSON.stringify({ sizeGb: volume.sizeGb }));
    });
  }

  grow(id: string, sizeGb: number): Promise<void> {
    return this.#changes.run(async () => {
      checkGrowth(await this.#known(id), sizeGb);
      await replacePrivately(this.#record(id), JSON.stringify({ sizeGb }));
    });
  }

  async remove(id: string, others: UsersOf = async () => []): Promise<void> {
    // It would lead elsewhere.
    if (!isVolumeName(id)) return;
    await this.#changes.run(async () => {
      const usersOf = async () => [...(await this.usersOf(id)), ...(await others(id))];
      const volume = await this.#find(id);
      refuseIfUsed(id, await usersOf());
      // Without its record nobody mounts it any more; who began to before that is seen by now.
      await rm(this.#record(id), { force: true });
      try {
        refuseIfUsed(id, await usersOf());
      } catch (error) {
        if (volume) await keepPrivately(this.#record(id), JSON.stringify({ sizeGb: volume.sizeGb }));
        throw error;
      }
      await this.#clear(id);
    });
  }

  async #clear(id: string): Promise<void> {
    this.#counts.delete(id);
    const name = `${REMOVED}${id}`;
    await this.#delete(name);
    await rename(join(this.#folder, id), join(this.#folder, name)).catch(ifNotThere(undefined));
    await this.#delete(name);
  }

  async #delete(name: string): Promise<void> {
    await rm(join(this.#folder, name), { recursive: true, force: true });
  }

  async usage(id: string): Promise<VolumeUsage> {
    const { sizeGb } = await this.#known(id);
    const usedBytes = await this.#count(id);
    return { sizeGb, ...(usedBytes !== undefined && { usedBytes }) };
  }

  /** One count at a time of each volume, however many ask. */
  #count(id: string): Promise<number | undefined> {
    const now = this.#clock.monotonic();
    const known = this.#counts.get(id);
    if (known && now - known.at < COUNT_AGAIN_MS) return known.bytes;
    const bytes = runTool("/bin/sh", ["-c", COUNT, "count", join(this.#folder, id)]).then(bytesIn, () => undefined);
    this.#counts.set(id, { at: now, bytes });
    return bytes;
  }

  async list(): Promise<Volume[]> {
    const names = await readdir(join(this.#folder, RECORDS)).catch(ifNotThere([]));
    const found = await Promise.all(names.filter(isVolumeName).map((id) => this.#find(id)));
    return found.filter((volume) => volume !== undefined);
  }

  /** The folders of these mounts. `reserved`: places of the system that the driver shows itself. */
  async mounted(mounts: readonly Mount[] = [], reserved: readonly string[] = []): Promise<MountedFolder[]> {
    checkMounts(mounts, reserved);
    return Promise.all(
      mounts.map(async ({ volume, path }) => {
        if (!(await this.#find(volume))) throw new StartRefused(notHere(volume));
        return { source: await this.#ensure(volume), path };
      }),
    );
  }

  /** Programs run as any user, and nobody else can walk to the folder: what holds it is the server's own. */
  async #ensure(id: string): Promise<string> {
    const folder = join(this.#folder, id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Not by `mkdir`, which would open what it stands in too; and each time, since a server may have ended in between.
    await chmod(folder, 0o777);
    return folder;
  }

  async #known(id: string): Promise<Volume> {
    const volume = await this.#find(id);
    if (!volume) throw new VolumeRefused(notHere(id));
    return volume;
  }

  async #find(id: string): Promise<Volume | undefined> {
    if (!isVolumeName(id)) return undefined;
    const text = await readPrivate(this.#record(id)).catch(ifNotThere(undefined));
    return text === undefined ? undefined : { id, sizeGb: (JSON.parse(text) as { sizeGb: number }).sizeGb };
  }

  #record(id: string): string {
    return join(this.#folder, RECORDS, id);
  }
}

function bytesIn(text: string): number | undefined {
  const [, bytes] = /^(\d+)\s/.exec(text) ?? [];
  return bytes === undefined ? undefined : Number(bytes);
}
