/** Removes what terminated Pods have left on one machine: their storage, their logs, and the networks of their clusters. */
import { type Failed, named } from "../../../kernel/failed.ts";
import type { Compute } from "../../../ports/compute/compute.ts";
import { VolumeRefused } from "../../../ports/compute/volumes.ts";
import type { Logs } from "../../../ports/logs/logs.ts";
import type { ClusterService } from "../../clusters/service.ts";
import { keyOf } from "../../history/model.ts";
import type { SeriesRecords } from "../../history/records.ts";
import type { PodKeys } from "../keys.ts";
import { persistentVolume, podLog } from "../model.ts";
import type { PodItem, PodRecords } from "../records.ts";
import type { PodRemains } from "../remains.ts";
import type { PortVisits } from "../visits.ts";
import { ClusterNetworks, type ClusterNetworksParts } from "./cluster-networks.ts";

export interface ClearingParts {
  machine: string;
  compute: Compute;
  logs: Logs;
  podRecords: PodRecords;
  podRemains: PodRemains;
  podKeys: PodKeys;
  portVisits: PortVisits;
  seriesRecords: Pick<SeriesRecords, "remove">;
  clusters: Pick<ClusterService, "find" | "learn" | "agree">;
  endsOf: ClusterNetworksParts["endsOf"];
  failed: Failed;
}

export class Clearing {
  readonly #parts: ClearingParts;
  readonly #networks: ClusterNetworks;

  constructor(parts: ClearingParts) {
    this.#parts = parts;
    this.#networks = new ClusterNetworks(parts);
  }

  /** Each step can be repeated, because the record of what is left is removed last. */
  async clear(): Promise<void> {
    const { podRemains, podRecords, machine } = this.#parts;
    for (const { id, pod } of await podRemains.on(machine)) {
      // The Pod's program is still ending. A later look removes the rest.
      if ((await podRecords.instancesOf(pod)).some(({ doc }) => doc.machine === machine)) continue;
      if (await this.#removeOf(pod)) await podRemains.areGone(id);
    }
    // A container engine that is not reachable must not prevent the rest.
    await this.#networks.releaseLeft().catch(named(this.#parts.failed, "release networks of clusters"));
    await this.#networks.renew(await this.#members()).catch(named(this.#parts.failed, "renew networks of clusters"));
  }

  /** One member on this machine of each cluster that has members here. */
  async #members(): Promise<PodItem[]> {
    const { podRecords, machine } = this.#parts;
    const here = (await podRecords.ofMachine(machine)).filter(({ doc }) => doc.cluster !== undefined);
    const byCluster = new Map(here.map(({ doc }) => [doc.cluster!, doc.owner]));
    const found = await Promise.all([...byCluster.values()].map((pod) => podRecords.pods.get(pod)));
    return found.filter((pod) => pod !== undefined);
  }

  async #removeOf(pod: string): Promise<boolean> {
    const { compute, logs, podKeys, portVisits, seriesRecords } = this.#parts;
    try {
      await compute.volumes?.remove(persistentVolume(pod));
    } catch (error) {
      if (error instanceof VolumeRefused) return false;
      throw error;
    }
    await podKeys.removeOf(pod);
    await portVisits.removeOf(pod);
    await logs.remove(podLog(pod));
    await seriesRecords.remove(keyOf({ kind: "pod", id: pod }));
    return true;
  }
}
