/** How much of the data folder's disk containers use, and how a container that fills the disk is ended. */
import { stat } from "node:fs/promises";
import type { Clock } from "../../kernel/clock.ts";
import type { DiskWriter, DiskWriters } from "../../ports/compute/writers.ts";
import type { VolumeFolders } from "../machine/volume-folders.ts";
import { label, volumesOf } from "./container.ts";
import type { Containers, Listed } from "./containers.ts";

/** The engine counts sizes file by file. It is asked at most this often, and never for more than a twentieth of the time. */
const COUNT_AGAIN_MS = 2000;
const COUNT_PART = 20;

export interface DockerWritersParts {
  data: string;
  /** The volumes, on the data folder's disk or on a disk of their own. */
  volumes: VolumeFolders;
  clock: Clock;
  /** Resolves to undefined where there is no engine. */
  engine: () => Promise<{ containers: Containers; rootFolder: string } | undefined>;
  /** Ends the container of an instance at once. */
  kill: (id: string) => Promise<void>;
}

export class DockerWriters implements DiskWriters {
  readonly #parts: DockerWritersParts;
  readonly #verdicts = new Map<string, string>();
  #counted: { at: number; tookMs: number; sizes: ReadonlyMap<string, number> } | undefined;

  constructor(parts: DockerWritersParts) {
    this.#parts = parts;
  }

  /** Why the platform ended an instance for good. */
  verdictOf(id: string): string | undefined {
    return this.#verdicts.get(id);
  }

  forget(id: string): void {
    this.#verdicts.delete(id);
  }

  async list(): Promise<DiskWriter[]> {
    const { engine, data } = this.#parts;
    const found = await engine().catch(() => undefined);
    if (!found) return [];
    const [own, engines, volumes] = await Promise.all(
      [data, found.rootFolder, this.#parts.volumes.folder].map(deviceOf),
    );
    const hasLayers = own !== undefined && engines === own;
    const hasVolumes = own !== undefined && volumes === own;
    if (!hasLayers && !hasVolumes) return [];
    const running = (await found.containers.list()).filter(({ State }) => State !== "exited");
    const writers = running.filter(({ Labels }) => hasLayers || volumesOf(Labels).length > 0);
    const layers = hasLayers && writers.length > 0 ? await this.#layers(found.containers) : new Map<string, number>();
    return Promise.all(writers.map((one) => this.#writer(one, layers.get(one.Id) ?? 0, hasVolumes)));
  }

  async #writer({ Labels }: Listed, layerBytes: number, hasVolumes: boolean): Promise<DiskWriter> {
    const mounted = hasVolumes ? volumesOf(Labels) : [];
    const sizes = await Promise.all(mounted.map((volume) => this.#parts.volumes.ownBytes(volume)));
    const id = Labels[label.instance]!;
    if (sizes.includes(undefined)) return { id };
    return { id, bytes: sizes.reduce<number>((sum, size) => sum + size!, layerBytes) };
  }

  /** The bytes that containers had written to their layers when the engine last counted. */
  async #layers(containers: Containers): Promise<ReadonlyMap<string, number>> {
    const { clock } = this.#parts;
    const { at, tookMs, sizes } = this.#counted ?? { at: Number.NEGATIVE_INFINITY, tookMs: 0, sizes: new Map() };
    const began = clock.monotonic();
    if (began - at < Math.max(COUNT_AGAIN_MS, COUNT_PART * tookMs)) return sizes;
    const sized = new Map((await containers.sizes()).map(({ Id, SizeRw = 0 }) => [Id, SizeRw]));
    const now = clock.monotonic();
    this.#counted = { at: now, tookMs: now - began, sizes: sized };
    return sized;
  }

  async end(id: string, reason: string): Promise<void> {
    const found = await this.#parts.engine().catch(() => undefined);
    const container = await found?.containers.find(id);
    if (!container?.State.Running) return;
    this.#verdicts.set(id, reason);
    await this.#parts.kill(id);
    for (const volume of volumesOf(container.Config.Labels ?? {})) await this.#parts.volumes.flush(volume);
  }
}

async function deviceOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.dev;
}
