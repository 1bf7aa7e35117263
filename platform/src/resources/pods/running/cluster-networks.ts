/** Networks of clusters on one machine: reserved before a member starts, and given back when their cluster is gone. */
import { whyLacking } from "../../../ports/compute/abilities.ts";
import { type Compute, StartRefused } from "../../../ports/compute/compute.ts";
import { type ClusterNetwork, memberNames } from "../../clusters/network.ts";
import type { ClusterService } from "../../clusters/service.ts";
import type { PodItem } from "../records.ts";

export interface ClusterNetworksParts {
  compute: Compute;
  clusters: Pick<ClusterService, "find" | "learn">;
}

export class ClusterNetworks {
  readonly #parts: ClusterNetworksParts;

  constructor({ compute, clusters }: ClusterNetworksParts) {
    this.#parts = { compute, clusters };
  }

  /**
   * That of a member of a cluster, asked for whenever it is needed: the driver says the same for as long as the cluster is there, and knows what
   * it says. `moved` is told where the addresses are others than before.
   */
  async of(
    { account, doc: { cluster, image } }: PodItem,
    moved?: (to: string) => void,
  ): Promise<ClusterNetwork | undefined> {
    if (!cluster) return undefined;
    const { clusters, compute } = this.#parts;
    const { networks } = compute;
    const found = await clusters.find(cluster.id);
    if (!found) throw new StartRefused(`its cluster ${cluster.id} is not there any more`, { reason: "cluster-gone" });
    if (!networks) throw new StartRefused(whyLacking(compute, "networks"), { reason: "network-unavailable" });
    const before = found.doc.range ?? undefined;
    const ask = { account, id: cluster.id, image, names: memberNames(cluster), range: before };
    const { range, hosts } = await networks.reserve(ask);
    if (before !== undefined && range !== before) moved?.(range ?? "of several ranges");
    await clusters.learn(cluster.id, range ?? null);
    return { hosts, link: networks.interfaceOf(image) };
  }

  /** A cluster is on record before anything is reserved for it, so that what was reserved for none is left of one that is gone. */
  async releaseLeft(): Promise<void> {
    const { compute, clusters } = this.#parts;
    for (const network of (await compute.networks?.list()) ?? [])
      if (!(await clusters.find(network.id))) await compute.networks?.release(network);
  }
}
