/** Networks of clusters on one machine: reserved before a member starts, and released when the cluster is gone. */
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
   * The network of a cluster member. It is asked for each time, because the driver remembers it and gives the same answer while the cluster
   * exists. `moved` is called if the addresses have changed.
   */
  async of(
    { account, doc: { cluster, image } }: PodItem,
    moved?: (to: string) => void,
  ): Promise<ClusterNetwork | undefined> {
    if (!cluster) return undefined;
    const { clusters, compute } = this.#parts;
    const { networks } = compute;
    const found = await clusters.find(cluster.id);
    if (!found) throw new StartRefused(`its cluster ${cluster.id} no longer exists`, { reason: "cluster-gone" });
    if (!networks) throw new StartRefused(whyLacking(compute, "networks"), { reason: "network-unavailable" });
    const before = found.doc.range ?? undefined;
    const ask = { account, id: cluster.id, image, names: memberNames(cluster), range: before };
    const { range, hosts } = await networks.reserve(ask);
    if (before !== undefined && range !== before) moved?.(range ?? "of several ranges");
    await clusters.learn(cluster.id, range ?? null);
    return { hosts, link: networks.interfaceOf(image) };
  }

  /** A cluster is recorded before anything is reserved for it. So a network without a cluster is left over from one that is gone. */
  async releaseLeft(): Promise<void> {
    const { compute, clusters } = this.#parts;
    for (const network of (await compute.networks?.list()) ?? [])
      if (!(await clusters.find(network.id))) await compute.networks?.release(network);
  }
}
