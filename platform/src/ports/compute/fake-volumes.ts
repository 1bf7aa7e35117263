/** The volumes of the fake driver: what programs keep there is a map of texts. */
import type { Mount } from "./compute.ts";
import { StartRefused } from "./refusal.ts";
import {
  checkGrowth,
  checkMounts,
  checkVolume,
  notHere,
  refuseIfUsed,
  type UsersOf,
  type Volume,
  VolumeRefused,
  type Volumes,
  type VolumeUsage,
} from "./volumes.ts";

const GB = 2 ** 30;

interface Kept extends Volume {
  files: Map<string, string>;
}

/** What a machine holds, whichever process of the server looks at it. */
export type FakeStorage = Map<string, Kept>;

export class FakeVolumes implements Volumes {
  readonly #storage: FakeStorage;
  readonly #has: boolean;
  readonly usersOf: UsersOf;

  constructor(storage: FakeStorage, has: boolean, usersOf: UsersOf) {
    this.#storage = storage;
    this.#has = has;
    this.usersOf = usersOf;
  }

  async create(volume: Volume): Promise<void> {
    if (!this.#has) throw new VolumeRefused("there are no volumes here");
    checkVolume(volume);
    if (!this.#storage.has(volume.id)) this.#storage.set(volume.id, { ...volume, files: new Map() });
  }

  async grow(id: string, sizeGb: number): Promise<void> {
    const volume = this.#known(id);
    checkGrowth(volume, sizeGb);
    volume.sizeGb = sizeGb;
  }

  async remove(id: string, others: UsersOf = async () => []): Promise<void> {
    refuseIfUsed(id, [...(await this.usersOf(id)), ...(await others(id))]);
    this.#storage.delete(id);
  }

  async usage(id: string): Promise<VolumeUsage> {
    const { sizeGb, files } = this.#known(id);
    return { sizeGb, usedBytes: bytesOf(files.values()) };
  }

  async list(): Promise<Volume[]> {
    return [...this.#storage.values()].map(({ id, sizeGb }) => ({ id, sizeGb }));
  }

  checkMounts(mounts: readonly Mount[] = []): void {
    if (mounts.length > 0 && !this.#has) throw new StartRefused("there are no volumes here");
    checkMounts(mounts);
    const missing = mounts.find(({ volume }) => !this.#storage.has(volume));
    if (missing) throw new StartRefused(notHere(missing.volume));
  }

  /** A program writes a file; false where there is no room for it. */
  write(id: string, file: string, text: string): boolean {
    const { files, sizeGb } = this.#known(id);
    const others = [...files].filter(([name]) => name !== file).map(([, kept]) => kept);
    if (bytesOf([...others, text]) > sizeGb * GB) return false;
    files.set(file, text);
    return true;
  }

  read(id: string, file: string): string | undefined {
    return this.#storage.get(id)?.files.get(file);
  }

  #known(id: string): Kept {
    const volume = this.#storage.get(id);
    if (!volume) throw new VolumeRefused(notHere(id));
    return volume;
  }
}

const bytesOf = (texts: Iterable<string>) => [...texts].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
