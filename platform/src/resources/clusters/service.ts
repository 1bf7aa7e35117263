/** The rules of Instant Clusters. */
import { gpuPrice } from "../../catalog/compute.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { newRecord } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { parted, unsaidOf } from "../../kernel/resource.ts";
import { changedIn, isEmpty } from "../../kernel/same.ts";
import type { Static } from "../../kernel/schema.ts";
import type { Machine, Place } from "../../machines/place.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";
import { type Ceiling, refuseDearer } from "../pods/ceiling.ts";
import type { PodTerms } from "../pods/fields.ts";
import type { ClusterRole, ClusterSeat } from "../pods/model.ts";
import type { PodItem, PodRecords } from "../pods/records.ts";
import type { PodService } from "../pods/service.ts";
import type { Removals } from "../removals.ts";
import {
  Cluster,
  type ClusterCompute,
  type ClusterSpan,
  type ClusterType,
  clusters,
  type KeptCluster,
  MOST_MEMBERS,
} from "./model.ts";
import { agreedBy, spanNumbers, spanOver } from "./span.ts";

export type ClusterItem = Item<KeptCluster>;
export type NewCluster = Static<typeof Cluster.create>;
export type ClusterChange = Static<typeof Cluster.update>;

export interface ClusterServiceParts {
  store: Store;
  clock: Clock;
  random: Random;
  pods: PodService;
  podRecords: PodRecords;
  removals: Removals;
}

const LISTED_AT_MOST = 10_000;

export class ClusterService {
  readonly #parts: ClusterServiceParts;
  readonly #clusters: Collection<KeptCluster>;

  constructor(parts: ClusterServiceParts) {
    this.#parts = parts;
    this.#clusters = new Collection(parts.store, clusters);
  }

  prepare(): Promise<void> {
    return this.#clusters.prepare();
  }

  /** Lists the newest first, each with its members. */
  async list({ account }: Caller): Promise<{ cluster: ClusterItem; members: PodItem[] }[]> {
    const found = await this.#clusters.list({ account, limit: LISTED_AT_MOST });
    if (found.length === 0) return [];
    const byCluster = new Map<string, PodItem[]>(found.map(({ id }) => [id, []]));
    for (const pod of await this.#parts.podRecords.members(account)) byCluster.get(pod.doc.cluster!.id)?.push(pod);
    return found.map((cluster) => ({ cluster, members: byRank(byCluster.get(cluster.id)!) }));
  }

  /** A cluster of another account does not exist for the caller. */
  get(caller: Caller, id: string): Promise<ClusterItem> {
    return this.#clusters.owned(caller, id);
  }

  /** The members, ordered by rank. */
  async members({ id, account }: Pick<ClusterItem, "id" | "account">): Promise<PodItem[]> {
    return byRank(await this.#parts.podRecords.membersOf(account, id, MOST_MEMBERS));
  }

  /** The cluster exists only if all members have places; otherwise nothing is created. */
  async create(caller: Caller, asked: NewCluster, { mostPerHour }: Ceiling = {}): Promise<ClusterItem> {
    const [own, given] = parted(Cluster, asked);
    const { name, type, compute } = own;
    if (mostPerHour !== undefined) refuseDearer([{ price: priceOf(compute) }], mostPerHour);
    const record = newRecord(this.#parts, caller.account);
    const { podCount, gpuCountPerPod, gpuTypeId } = compute;
    const terms: PodTerms = { ...given, name, gpu: { types: [gpuTypeId], count: gpuCountPerPod } };
    const seats = Array.from({ length: podCount }, (_, rank): ClusterSeat => {
      const role = roles[type]?.(rank) ?? null;
      return { id: record.id, rank, members: podCount, gpusEach: gpuCountPerPod, role };
    });
    const made = { template: given.templateId ?? null, range: null };
    await this.#parts.pods.createMembers(caller, terms, seats, async (places, machines) => {
      const where = { dataCenter: places[0]!.dataCenter, span: await this.#spanOf(record.id, places, machines) };
      return this.#clusters.inserting({ ...record, doc: { ...unsaidOf(Cluster), ...own, ...made, ...where } });
    });
    return this.get(caller, record.id);
  }

  /** Two networks with the same number would get each other's packets, so the store refuses the second. */
  async #spanOf(id: string, places: readonly Place[], machines: readonly Machine[]): Promise<ClusterSpan | null> {
    const over = spanOver(
      places.map(({ machine }) => machine),
      machines,
    );
    if (!over) return null;
    for (const number of spanNumbers(id))
      if (!(await this.#clusters.findEverywhere("span", String(number)))) return { ...over, number };
    return null;
  }

  update(caller: Caller, id: string, said: ClusterChange): Promise<ClusterItem> {
    return this.#clusters.changeOwned(caller, id, ({ doc }) => {
      const set = changedIn(doc, said);
      return isEmpty(set) ? undefined : { set };
    });
  }

  /** Callers no longer see the cluster. Its members end before the answer, or after a crash when the next server starts. */
  async remove(caller: Caller, id: string): Promise<void> {
    const { removals } = this.#parts;
    await this.#clusters.changeOwned(caller, id, () => ({ remove: true, also: [removals.marking("cluster", id)] }));
    await removals.finish("cluster", id);
  }

  /** Finds a cluster of any account. */
  find(id: string): Promise<ClusterItem | undefined> {
    return this.#clusters.get(id);
  }

  /** Keeps the address range that the driver chose for the members. */
  async learn(id: string, range: string | null): Promise<void> {
    await this.#clusters.change(id, ({ doc }) => (doc.range === range ? undefined : { set: { range } }));
  }

  /** Keeps that one of the cluster's machines has reserved this range. Returns the cluster as it is then, unless it is gone. */
  agree(id: string, machine: string, reserved: string): Promise<ClusterItem | undefined> {
    return this.#clusters.change(id, ({ doc: { range, span } }) => {
      const set = span ? agreedBy(machine, reserved, { range, span }) : undefined;
      return set && { set };
    });
  }
}

const roles: Partial<Record<ClusterType, (rank: number) => ClusterRole>> = {
  SLURM: (rank) => (rank === 0 ? "SLURM_CONTROLLER" : "SLURM_COMPUTE"),
  RAY: (rank) => (rank === 0 ? "RAY_HEAD" : "RAY_WORKER"),
};

const priceOf = ({ gpuTypeId, gpuCountPerPod, podCount }: ClusterCompute) =>
  gpuPrice.member(gpuTypeId) * gpuCountPerPod * podCount;

const byRank = (pods: readonly PodItem[]) => pods.toSorted((a, b) => a.doc.cluster!.rank - b.doc.cluster!.rank);
