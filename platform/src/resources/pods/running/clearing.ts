/** Removes what Pods that are gone have left on one machine: what they stored, their logs, and the networks of their clusters. */
import { type Failed, named } from "../../../kernel/failed.ts";
import type { Compute } from "../../../ports/compute/compute.ts";
import { VolumeRefused } from "../../../ports/compute/volumes.ts";
import type { Logs } from "../../../ports/logs/logs.ts";
import type { ClusterService } from "../../clusters/service.ts";
import type { PodKeys } from "../keys.ts";
import { persistentVolume, podLog } from "../model.ts";
import type { PodRecords } from "../records.ts";
import type { PodRemains } from "../remains.ts";
import type { PortVisits } from "../visits.ts";
import { ClusterNetworks } from "./cluster-networks.ts";

export interface ClearingParts {
  machine: string;
  compute: Compute;
  logs: Logs;
  podRecords: PodRecords;
  podRemains: PodRemains;
  podKeys: PodKeys;
  portVisits: PortVisits;
  clusters: Pick<ClusterService, "find" | "learn">;
  failed: Failed;
}

export class Clearing {
  readonly #parts: ClearingParts;
  readonly #networks: ClusterNetworks;

  constructor(parts: ClearingParts) {
    this.#parts = parts;
    this.#networks = new ClusterNetworks(parts);
  }

  /** Each step may be repeated: the note that there is something to remove goes last. */
  async clear(): Promise<void> {
    const { podRemains, podRecords, machine } = this.#parts;
    for (const { id, pod } of await podRemains.on(machine)) {
      // Its program is still ending; the next look finds it gone.
      if ((await podRecords.instancesOf(pod)).some(({ doc }) => doc.machine === machine)) continue;
      if (await this.#removeOf(pod)) await podRemains.areGone(id);
    }
    // An engine that is away keeps nobody from doing the rest.
    await this.#networks.releaseLeft().catch(named(this.#parts.failed, "release networks of clusters"));
  }

  async #removeOf(pod: string): Promise<boolean> {
    const { compute, logs, podKeys, portVisits } = this.#parts;
    try {
      await compute.volumes?.remove(persistentVolume(pod));
    } catch (error) {
      if (error instanceof VolumeRefused) return false;
      throw error;
    }
    await podKeys.removeOf(pod);
    await portVisits.removeOf(pod);
    await logs.remove(podLog(pod));
    return true;
  }
}
