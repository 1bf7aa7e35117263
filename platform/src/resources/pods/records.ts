/** The records of Pods and of their instances. Changes that concern both go into one commit. */

import type { Clock } from "../../kernel/clock.ts";
import { WrongMove } from "../../kernel/lifecycle.ts";
import { because, withPlacesHidden } from "../../kernel/reason.ts";
import type { Allocator, Judge, Wish } from "../../machines/allocator.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import type { NoRoom, Place } from "../../machines/place.ts";
import { commitMetered } from "../../metering/commit.ts";
import { Meter, type Metered, meteringIn, type OnRecord } from "../../metering/meter.ts";
import type { PricesInTime } from "../../metering/prices.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import type { Bound, Store, Write } from "../../ports/store/store.ts";
import { podStorage } from "./billed.ts";
import { isPodInstance, type KeptPodInstance, type PodInstance } from "./instance.ts";
import { type PodInstanceMove, type PodMove, podInstanceLifecycle, podLifecycle } from "./lifecycle.ts";
import { type KeptPod, pods } from "./model.ts";

export type PodItem = Item<KeptPod>;

/** The fields that a change can set directly. The status only changes by a move. */
export type PodSet = Partial<Omit<KeptPod, "status" | "lastStatusChange">>;

/** A change of a Pod and of its instance. */
export interface PodChange {
  /** A move of the Pod's lifecycle, which refuses moves that it does not have. The time of the move is recorded too. */
  move?: PodMove;
  set?: PodSet;
  /** Removes the record of the Pod. */
  remove?: true;
  instance?: { move: PodInstanceMove; set?: Partial<KeptPodInstance>; metered?: Metered };
  also?: readonly Write[];
}

export type PodDecision = (
  pod: PodItem,
  instance: PodInstance | undefined,
) => PodChange | undefined | Promise<PodChange | undefined>;

/** No Pod ever has this many writers at once. */
const MOST_TRIES = 1000;

export class PodRecords {
  readonly pods: Collection<KeptPod>;
  readonly instances: InstanceRecords;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #meter: Meter<KeptPod>;
  /** The instances of Pods at one revision. They are gathered anew only after a change, since several duties ask every second. */
  #gathered: { revision: number; pods: PodInstance[] } | undefined;

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
    if (this.#gathered?.revision !== (await this.instances.currentRevision())) {
      const pods = this.instances.remembered().filter(isPodInstance);
      this.#gathered = { revision: this.instances.revision, pods };
    }
    return [...this.#gathered.pods];
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

  /** Another node may have placed the Pod a moment ago. A change that missed the instance would leave a program that nobody ends. */
  #findAnew(id: string) {
    this.instances.forget();
    return this.instances.find(id);
  }

  /**
   * Changes a Pod as `decide` says for its current state and instance. If somebody else changed it first, `decide` is asked again. Returns
   * undefined if the Pod does not exist (any more). If `decide` returns nothing, the Pod stays unchanged.
   */
  async change(id: string, decide: PodDecision): Promise<PodItem | undefined> {
    for (let left = MOST_TRIES; left > 0; left--) {
      const pod = await this.pods.get(id);
      if (!pod) return undefined;
      const instance = await this.instanceOf(pod);
      const change = await decide(pod, instance);
      if (!change) return pod;
      const isWritten = await this.#write(pod, instance, change).catch(async (error) => {
        if (!(error instanceof WrongMove) || (await this.#isOfOneMoment(pod, instance))) throw error;
        return false;
      });
      if (isWritten) return change.remove ? pod : await this.pods.get(id);
    }
    throw new Error(`Pod ${id} could not be changed: other requests changed it at the same time`);
  }

  /** The two are read one after the other. If something changed in between, they may ask for moves that neither allows for the other. */
  async #isOfOneMoment({ id, version }: PodItem, instance: PodInstance | undefined): Promise<boolean> {
    this.instances.forget();
    const now = instance && (await this.instances.find(instance.id));
    return (await this.pods.get(id))?.version === version && now?.version === instance?.version;
  }

  /** Writes for the commit that creates a Pod. Its disks are metered from then on. */
  creating(pod: OnRecord<KeptPod>, within?: readonly Bound[]): Write[] {
    const { doc, writes } = this.#meter.begin(pod);
    return [this.pods.inserting({ ...pod, doc }, within), ...writes];
  }

  /** Gives a Pod without an instance one where there is room. The change of the Pod goes into the same commit. */
  async place(
    id: string,
    {
      allocator,
      wish,
      move,
      set,
      judge,
    }: {
      allocator: Allocator;
      wish: PodWish;
      move: "place" | "startNow";
      set: (pod: PodItem, place: Place) => PodSet;
      judge: Judge;
    },
  ): Promise<PodInstance | NoRoom | undefined> {
    let isEnding = false;
    const moving = async ([place]: readonly Place[]) => {
      const pod = await this.pods.get(id);
      // Somebody else stopped, ended or placed the Pod meanwhile.
      if (!pod || !podLifecycle.can(pod.doc.status, move) || pod.doc.instance !== null) return undefined;
      // Asked after the Pod was read: an instance that it had before is there until its program has ended.
      isEnding = await this.instances.isOwned(id);
      if (isEnding) return undefined;
      return this.#patching(pod, { move, set: set(pod, place!) });
    };
    const placed = await allocator.allocate([wish], moving, judge);
    if (isEnding) return { reason: because("still-ending") };
    return Array.isArray(placed) ? placed[0] : placed;
  }

  /** Removes the record of an instance that left its machine. One that is already gone is not an error. */
  leave({ id }: PodInstance, metered: Metered): Promise<void> {
    const leaves = ({ state }: KeptPodInstance) => podInstanceLifecycle.move(id, state, "leave");
    return this.instances.remove(id, leaves, metered);
  }

  /** Meters the Pod's disks at the current prices from the moment they apply. Disks that were not metered yet are metered from now on. */
  async renew(id: string): Promise<void> {
    for (;;) {
      const pod = await this.pods.get(id);
      if (!pod || !this.#meter.isOutdated(pod, this.#clock.now())) return;
      if (await commitMetered(this.#store, this.#patching(pod, {}, { renewed: true }))) return;
    }
  }

  async #write(pod: PodItem, instance: PodInstance | undefined, change: PodChange): Promise<boolean> {
    const own = change.remove ? this.#removing(pod, change) : this.#patching(pod, change);
    const writes = [...own, ...(change.also ?? [])];
    if (instance && change.instance) {
      const { move, set = {}, metered } = change.instance;
      const state = podInstanceLifecycle.move(instance.id, instance.doc.state, move);
      return (await this.instances.patch(instance, { ...set, state }, metered, writes)) !== undefined;
    }
    return (await commitMetered(this.#store, writes)) !== undefined;
  }

  /** The first write returned is that of the Pod's record, followed by those of its spans. */
  #patching(pod: PodItem, { move, set: said = {} }: PodChange, metered: Metered = {}): Write[] {
    const hidden = said.reason && { reason: withPlacesHidden(said.reason) };
    const set = { ...said, ...hidden, ...(move && this.#moved(pod, move)) };
    const { doc, writes } = this.#meter.move(pod, { ...pod.doc, ...set }, this.#clock.now(), metered);
    return [this.pods.patching(pod, { ...set, ...meteringIn(doc) }), ...writes];
  }

  /** The only way to change the status. Throws if the lifecycle has no such move. */
  #moved({ id, doc }: PodItem, move: PodMove): Pick<KeptPod, "status" | "lastStatusChange"> {
    return { status: podLifecycle.move(id, doc.status, move), lastStatusChange: this.#clock.now() };
  }

  #removing(pod: PodItem, { move }: PodChange): Write[] {
    if (move) this.#moved(pod, move);
    return [this.pods.removing(pod.id, pod.version), ...this.#meter.end(pod, this.#clock.now())];
  }
}

export type PodWish = Wish<KeptPodInstance>;
