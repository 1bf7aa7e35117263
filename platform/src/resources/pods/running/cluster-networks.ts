/** Networks of clusters on one machine: reserved before a member starts, and released when the cluster is gone. */

import { because, type Reason } from "../../../kernel/reason.ts";
import { whyLacking } from "../../../ports/compute/abilities.ts";
import { type Compute, StartRefused } from "../../../ports/compute/compute.ts";
import type { Network, NetworkAsk, Networks } from "../../../ports/compute/groups.ts";
import type { Span, SpanEnd } from "../../../ports/compute/spans.ts";
import type { ClusterSpan } from "../../clusters/model.ts";
import { type ClusterNetwork, memberNames, nodeName } from "../../clusters/network.ts";
import type { ClusterItem, ClusterService } from "../../clusters/service.ts";
import { waitedFor } from "../../clusters/span.ts";
import type { PodItem } from "../records.ts";

export interface ClusterNetworksParts {
  machine: string;
  compute: Compute;
  clusters: Pick<ClusterService, "find" | "learn" | "agree">;
  /** How other machines are reached for networks that they share with this one. */
  endsOf: (machines: readonly string[]) => Promise<SpanEnd[]>;
}

/** The machines of a cluster propose fewer ranges than this before they agree, because each range is proposed once. */
const MOST_ROUNDS = 200;

export class ClusterNetworks {
  readonly #parts: ClusterNetworksParts;

  constructor({ machine, compute, clusters, endsOf }: ClusterNetworksParts) {
    this.#parts = { machine, compute, clusters, endsOf };
  }

  /**
   * What a member waits for before its first start: if other machines have members too, all must have reserved the same range. Reserves it
   * here. Undefined if it need not wait.
   */
  async hindrance(pod: PodItem): Promise<Reason | undefined> {
    const { clusters, machine } = this.#parts;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const cluster = await this.#spanning(pod);
      if (!cluster) return undefined;
      const { span, range } = cluster.doc;
      const { told, ask, networks } = await this.#reserve(pod, cluster);
      // It was reserved here before another machine turned out not to have it.
      if (span.avoid.includes(told)) await networks.release(ask);
      else {
        const now = (await clusters.agree(cluster.id, machine, told))?.doc;
        if (now?.range === told && now.span) return waiting(now.span);
        if (now?.span && waitedFor(now.span).length === 0 && now.range === range) throw rangeTaken(now.range);
      }
    }
    throw new Error(`the machines of cluster ${pod.doc.cluster?.id} did not agree on a range`);
  }

  /**
   * The network of a cluster member. It is asked for each time, because the driver remembers it and gives the same answer while the cluster
   * exists. `moved` is called if the addresses have changed.
   */
  async of(pod: PodItem, moved?: (to: string) => void): Promise<ClusterNetwork | undefined> {
    const { cluster, image } = pod.doc;
    if (!cluster) return undefined;
    const { clusters } = this.#parts;
    const found = await this.#clusterOf(pod);
    const networks = this.#networks();
    const before = found.doc.range;
    const { range, hosts } = await networks.reserve(await this.#askFor(pod, found));
    if (found.doc.span) {
      if (range !== before || waitedFor(found.doc.span).length > 0) throw rangeTaken(before);
    } else {
      if (before !== null && range !== before) moved?.(range ?? "of several ranges");
      await clusters.learn(cluster.id, range ?? null);
    }
    return { hosts, link: networks.interfaceOf(image) };
  }

  /** A cluster is recorded before anything is reserved for it. So a network without a cluster is left over from one that is gone. */
  async releaseLeft(): Promise<void> {
    const { compute, clusters } = this.#parts;
    for (const network of (await compute.networks?.list()) ?? [])
      if (!(await clusters.find(network.id))) await compute.networks?.release(network);
  }

  /**
   * Tells the driver where the other machines of its networks are now, since their addresses and keys may have changed. The driver restores
   * what is missing.
   */
  async renew(members: readonly PodItem[]): Promise<void> {
    for (const pod of members) {
      const { cluster } = pod.doc;
      const found = cluster && (await this.#parts.clusters.find(cluster.id));
      if (found && isSpanning(found) && found.doc.span.agreed.includes(this.#parts.machine))
        await this.#networks().reserve(await this.#askFor(pod, found));
    }
  }

  async #reserve(pod: PodItem, cluster: ClusterItem): Promise<{ told: string; ask: NetworkAsk; networks: Networks }> {
    const [networks, ask] = [this.#networks(), await this.#askFor(pod, cluster)];
    const { range }: Network = await networks.reserve(ask);
    if (range === undefined) throw unavailable("its driver knows no addresses before members run");
    return { told: range, ask, networks };
  }

  async #askFor(pod: PodItem, { doc }: ClusterItem): Promise<NetworkAsk> {
    const { id } = pod.doc.cluster!;
    const ask = { account: pod.account, id, image: pod.doc.image, names: memberNames(pod.doc.cluster!) };
    const range = doc.range ?? undefined;
    if (!doc.span) return { ...ask, range };
    return { ...ask, range, avoid: doc.span.avoid, span: await this.#spanFor(doc.span) };
  }

  async #spanFor({ number, mtu, isEncrypted, machines }: ClusterSpan): Promise<Span> {
    const { machine, endsOf } = this.#parts;
    const others = await endsOf([...new Set(machines)].filter((other) => other !== machine));
    const elsewhere = machines.flatMap((other, rank) => (other === machine ? [] : [nodeName(rank)]));
    return { number, mtu, isEncrypted, others, elsewhere };
  }

  async #spanning(pod: PodItem): Promise<Spanning | undefined> {
    if (!pod.doc.cluster) return undefined;
    const found = await this.#clusterOf(pod);
    return isSpanning(found) ? found : undefined;
  }

  async #clusterOf({ doc }: PodItem): Promise<ClusterItem> {
    const { id } = doc.cluster!;
    const found = await this.#parts.clusters.find(id);
    if (!found) throw new StartRefused(`its cluster ${id} no longer exists`, { reason: "cluster-gone" });
    return found;
  }

  #networks(): Networks {
    const { compute } = this.#parts;
    if (!compute.networks) throw unavailable(whyLacking(compute, "networks"));
    return compute.networks;
  }
}

type Spanning = ClusterItem & { doc: { span: ClusterSpan } };

const isSpanning = (cluster: ClusterItem): cluster is Spanning => Boolean(cluster.doc.span);

function waiting(span: ClusterSpan): Reason | undefined {
  const machines = waitedFor(span);
  return machines.length === 0 ? undefined : because("network-forming", { machines: machines.join(", ") });
}

const unavailable = (text: string) => new StartRefused(text, { reason: "network-unavailable" });

const rangeTaken = (range: string | null) =>
  unavailable(`the addresses ${range} of its cluster are in use by something else on this machine`);
