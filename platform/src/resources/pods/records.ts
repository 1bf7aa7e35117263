/** The records of Pods and of their instances: whatever is to be true of both is one commit. */

import type { Clock } from "../../kernel/clock.ts";
import { withPlacesHidden } from "../../kernel/reason.ts";
import type { Allocator, Judge, Wish } from "../../machines/allocator.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import type { NoRoom, Place } from "../../machines/place.ts";
import { commitMetered } from "../../metering/commit.ts";
import { Meter, type Metered, type OnRecord } from "../../metering/meter.ts";
import type { PricesInTime } from "../../metering/prices.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import type { Bound, Store, Write } from "../../ports/store/store.ts";
import { podStorage } from "./billed.ts";
import {
  isPodInstance,
  type KeptPodInstance,
  type PodInstance,
  type PodInstanceMove,
  podInstanceLifecycle,
} from "./instance.ts";
import { type KeptPod, pods } from "./model.ts";

export type PodItem = Item<KeptPod>;

/** What becomes of a Pod, and of the instance that it has. */
export interface PodChange {
  set?: Partial<KeptPod>;
  /** Nothing of the Pod is on record any more. */
  remove?: true;
  instance?: { move: PodInstanceMove; set?: Partial<KeptPodInstance>; metered?: Metered };
  also?: readonly Write[];
}

export type PodDecision = (
  pod: PodItem,
  instance: PodInstance | undefined,
) => PodChange | undefined | Promise<PodChange | undefined>;

/** More than can be at one Pod at once. */
const MOST_TRIES = 1000;

export class PodRecords {
  readonly pods: Collection<KeptPod>;
  readonly instances: InstanceRecords;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #meter: Meter<KeptPod>;

  constructor(parts: { store: Store; clock: Clock; instances: InstanceRecords; prices?: PricesInTime }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#meter = new Meter(parts.store, podStorage, parts.prices);
    this.pods = new Collection(parts.store, pods);
    this.instances = parts.instances;
  }

  prepare(): Promise<void> {
    return this.pods.prepare();
  }

  async instancesOf(pod: string): Promise<PodInstance[]> {
    return (await this.allInstances()).filter(({ doc }) => doc.owner === pod);
  }

  async ofMachine(machine: string): Promise<PodInstance[]> {
    return (await this.allInstances()).filter(({ doc }) => doc.machine === machine);
  }

  async allInstances(): Promise<PodInstance[]> {
    return (await this.instances.all()).filter(isPodInstance);
  }

  /** Those of an account that name something. */
  async naming(
    account: string,
    what: "registry" | "template" | "volume",
    id: string,
    most: number,
  ): Promise<{ id: string; name: string }[]> {
    const found = await this.pods.list({ account, key: { name: what, value: id }, limit: most });
    return found.map(({ id, doc }) => ({ id, name: doc.name }));
  }

  /** The members of all clusters of an account. */
  async members(account: string): Promise<PodItem[]> {
    return Array.fromAsync(this.pods.all({ account, key: { name: "member", value: "yes" } }));
  }

  membersOf(account: string, cluster: string, limit: number): Promise<PodItem[]> {
    return this.pods.list({ account, key: { name: "cluster", value: cluster }, limit });
  }

  async instanceOf({ doc }: PodItem): Promise<PodInstance | undefined> {
    if (doc.instance === null) return undefined;
    const item = (await this.instances.find(doc.instance)) ?? (await this.#findAnew(doc.instance));
    return item && isPodInstance(item) ? item : undefined;
  }

  /** Another node may have placed it a moment ago: who changed the Pod without it would leave a program that nobody ends. */
  #findAnew(id: string) {
    this.instances.forget();
    return this.instances.find(id);
  }

  /**
   * Changes a Pod as `decide` says of what it and its instance are now; when somebody else was faster, `decide` is asked again. Undefined when
   * there is no such Pod (any more); a decision of nothing leaves it.
   */
  async change(id: string, decide: PodDecision): Promise<PodItem | undefined> {
    for (let left = MOST_TRIES; left > 0; left--) {
      const pod = await this.pods.get(id);
      if (!pod) return undefined;
      const instance = await this.instanceOf(pod);
      const change = await decide(pod, instance);
      if (!change) return pod;
      if (await this.#write(pod, instance, change)) return change.remove ? pod : await this.pods.get(id);
    }
    throw new Error(`Pod ${id} could not be changed: somebody else was faster each time`);
  }

  /** For the commit by which there is a new Pod: its disks are metered from then on. */
  creating(pod: OnRecord<KeptPod>, within?: readonly Bound[]): Write[] {
    const { doc, writes } = this.#meter.begin(pod);
    return [this.pods.inserting({ ...pod, doc }, within), ...writes];
  }

  /** Gives a Pod that has none an instance where there is room, with what the place makes of the Pod in the same commit. */
  async place(
    id: string,
    {
      allocator,
      wish,
      set,
      judge,
      isReady = ({ doc }) => doc.status === "PROVISIONING",
    }: {
      allocator: Allocator;
      wish: PodWish;
      set: (pod: PodItem, place: Place) => Partial<KeptPod>;
      judge: Judge;
      /** Whether it is still to be placed; by default one that waits is. */
      isReady?: ((pod: PodItem) => boolean) | undefined;
    },
  ): Promise<PodInstance | NoRoom | undefined> {
    const moving = async ([place]: readonly Place[]) => {
      const pod = await this.pods.get(id);
      // Stopped, ended or placed by somebody else meanwhile.
      if (!pod || !isReady(pod) || pod.doc.instance !== null) return undefined;
      return this.#patching(pod, set(pod, place!));
    };
    const placed = await allocator.allocate([wish], moving, judge);
    return Array.isArray(placed) ? placed[0] : placed;
  }

  /** Its disks are metered at the prices of now, from when they hold, and where nothing of them was metered yet, from now on. */
  async renew(id: string): Promise<void> {
    for (;;) {
      const pod = await this.pods.get(id);
      if (!pod || !this.#meter.isOutdated(pod, this.#clock.now())) return;
      if (await commitMetered(this.#store, this.#patching(pod, {}, { renewed: true }))) return;
    }
  }

  async #write(pod: PodItem, instance: PodInstance | undefined, change: PodChange): Promise<boolean> {
    const own = change.remove ? this.#removing(pod) : this.#patching(pod, change.set ?? {});
    const writes = [...own, ...(change.also ?? [])];
    if (instance && change.instance) {
      const { move, set = {}, metered } = change.instance;
      const state = podInstanceLifecycle.next(instance.doc.state, move);
      return (await this.instances.patch(instance, { ...set, state }, metered, writes)) !== undefined;
    }
    return (await commitMetered(this.#store, writes)) !== undefined;
  }

  /** The Pod's own write comes first; the spans of its disks go along. */
  #patching(pod: PodItem, said: Partial<KeptPod>, metered: Metered = {}): Write[] {
    const set = { ...said, ...(said.reason && { reason: withPlacesHidden(said.reason) }) };
    const { doc, writes } = this.#meter.move(pod, { ...pod.doc, ...set }, this.#clock.now(), metered);
    const { span = null, spans } = doc;
    return [this.pods.patching(pod, { ...set, ...(spans !== undefined && { span, spans }) }), ...writes];
  }

  #removing(pod: PodItem): Write[] {
    return [this.pods.removing(pod.id, pod.version), ...this.#meter.end(pod, this.#clock.now())];
  }
}

export type PodWish = Wish<KeptPodInstance>;
