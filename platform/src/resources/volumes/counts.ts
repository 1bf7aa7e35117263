/** Counts what the volumes of this node's machines hold, now and then and one at a time, so that no list has to. */
import { type Duty, every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import type { OwnMachine } from "../../machines/own-machine.ts";
import type { Volumes } from "../../ports/compute/volumes.ts";
import type { VolumeItem, VolumeRecords } from "./records.ts";

export interface VolumeCountsParts {
  records: VolumeRecords;
  machines: readonly Pick<OwnMachine, "id" | "compute">[];
  clock: Clock;
  failed: Failed;
  /** Instances on any machine that may have the volume mounted. */
  mountedBy: (volume: string) => Promise<readonly string[]>;
}

const LOOK_MS = 60_000;
const COUNT = "count what volumes hold";
/** A volume may hold many millions of files. */
const LONGEST_MS = 24 * 3_600_000;
/** A volume that an instance has mounted is counted again after this time, and one that only files are sent to after the longer time. */
const MOUNTED_MS = 5 * 60_000;
const IDLE_MS = 60 * 60_000;
/** A count that takes long is repeated less often, so that counting takes at most this part of the time. */
const MOST_OF_TIME = 1 / 100;

interface Counted {
  at: number;
  tookMs: number;
  wasMounted: boolean;
}

export class VolumeCounts implements AsyncDisposable {
  readonly #parts: VolumeCountsParts;
  readonly #counted = new Map<string, Counted>();
  readonly #counting: Duty;

  constructor(parts: VolumeCountsParts) {
    this.#parts = parts;
    const kind = { name: COUNT, everyMs: LOOK_MS, longestMs: LONGEST_MS };
    this.#counting = every(parts.clock, kind, () => this.#look(), parts.failed);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#counting[Symbol.asyncDispose]();
  }

  async #look(): Promise<void> {
    const { records, failed } = this.#parts;
    const seen = new Set<string>();
    for await (const item of records.volumes.all()) {
      const storage = item.doc.made && this.#storageOf(item.doc.machine);
      if (!storage) continue;
      seen.add(item.id);
      await this.#countIfDue(item, storage).catch(named(failed, COUNT));
    }
    for (const id of this.#counted.keys()) if (!seen.has(id)) this.#counted.delete(id);
  }

  /** A volume is counted once more after it was last mounted, since programs wrote to it until then. */
  async #countIfDue(item: VolumeItem, storage: Volumes): Promise<void> {
    const { records, clock, mountedBy } = this.#parts;
    const before = this.#counted.get(item.id);
    const isMounted = (await mountedBy(item.id)).length > 0;
    const began = clock.monotonic();
    if (before) {
      const hasEnded = before.wasMounted && !isMounted;
      const pauseMs = Math.max(isMounted ? MOUNTED_MS : IDLE_MS, before.tookMs / MOST_OF_TIME);
      if (began - before.at < (hasEnded ? LOOK_MS : pauseMs)) return;
    }
    const { usedBytes } = await storage.usage(item.id);
    const at = clock.monotonic();
    this.#counted.set(item.id, { at, tookMs: at - began, wasMounted: isMounted });
    await records.noteUsed(item, usedBytes);
  }

  #storageOf(machine: string | null): Volumes | undefined {
    const isIt = ({ id, compute }: VolumeCountsParts["machines"][number]) =>
      machine === null ? compute.volumes?.shared : id === machine;
    return this.#parts.machines.find(isIt)?.compute.volumes;
  }
}
