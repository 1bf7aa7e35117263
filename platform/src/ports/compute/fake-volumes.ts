/** The volumes of the fake driver. Their contents are in memory. */
import type { Clock } from "../../kernel/clock.ts";
import type { Files } from "../files/files.ts";
import { MemoryFiles } from "../files/memory-files.ts";
import type { Mount } from "./compute.ts";
import { StartRefused } from "./refusal.ts";
import { VolumeUsers } from "./volume-users.ts";
import {
  checkGrowth,
  checkMounts,
  checkVolume,
  type FoundVolume,
  NO_SHARED,
  notHere,
  refuseIfUsed,
  type Volume,
  VolumeRefused,
  type Volumes,
  type VolumeUsage,
} from "./volumes.ts";

const GB = 2 ** 30;

interface Kept extends Volume {
  files: MemoryFiles;
}

/** What a machine holds. It outlives the server's process. */
export type FakeStorage = Map<string, Kept>;

type Kind = Pick<Volumes, "sizes" | "shared">;

export class FakeVolumes implements Volumes {
  readonly #storage: FakeStorage;
  readonly #clock: Clock;
  readonly sizes: boolean;
  readonly shared: boolean;
  readonly users = new VolumeUsers();

  constructor(clock: Clock, storage: FakeStorage, { sizes, shared }: Kind) {
    this.#clock = clock;
    this.#storage = storage;
    this.sizes = sizes;
    this.shared = shared;
  }

  async create(volume: Volume): Promise<void> {
    checkVolume(volume);
    if (volume.shared && !this.shared) throw new VolumeRefused(NO_SHARED);
    if (this.#storage.has(volume.id)) return;
    const files = new MemoryFiles({ now: () => this.#clock.now(), bytesLeft: () => this.#bytesLeft(volume.id) });
    this.#storage.set(volume.id, { ...volume, files });
  }

  /** The server itself keeps to the size, even if nothing enforces it for programs. */
  #bytesLeft(id: string): number {
    const { files, sizeGb } = this.#known(id);
    return sizeGb * GB - files.usedBytes;
  }

  async grow(id: string, sizeGb: number): Promise<void> {
    const volume = this.#known(id);
    checkGrowth(volume, sizeGb);
    volume.sizeGb = sizeGb;
  }

  async remove(id: string): Promise<void> {
    refuseIfUsed(id, await this.users.of(id));
    this.#storage.delete(id);
  }

  async usage(id: string): Promise<VolumeUsage> {
    const { sizeGb, files } = this.#known(id);
    return { sizeGb, usedBytes: files.usedBytes };
  }

  async list(): Promise<FoundVolume[]> {
    const found = await Promise.all([...this.#storage.keys()].map((id) => this.find(id)));
    return found.filter((volume) => volume !== undefined);
  }

  async find(id: string): Promise<FoundVolume | undefined> {
    const volume = this.#storage.get(id);
    const sizeEnforced = this.sizes;
    return volume && { id, sizeGb: volume.sizeGb, ...(volume.shared && { shared: true }), sizeEnforced };
  }

  async files(id: string): Promise<Files | undefined> {
    return this.#storage.get(id)?.files;
  }

  checkMounts(mounts: readonly Mount[] = []): void {
    checkMounts(mounts);
    const missing = mounts.find(({ volume }) => !this.#storage.has(volume));
    if (missing) throw new StartRefused(notHere(missing.volume), { reason: "volume-missing" });
  }

  /** Writes a file as a program. Returns false if there is no room. */
  write(id: string, file: string, text: string): boolean {
    const { files } = this.#known(id);
    const freed = Buffer.byteLength(files.read(file) ?? "");
    if (this.sizes && Buffer.byteLength(text) > this.#bytesLeft(id) + freed) return false;
    files.write(file, text);
    return true;
  }

  read(id: string, file: string): string | undefined {
    return this.#storage.get(id)?.files.read(file);
  }

  #known(id: string): Kept {
    const volume = this.#storage.get(id);
    if (!volume) throw new VolumeRefused(notHere(id));
    return volume;
  }
}
