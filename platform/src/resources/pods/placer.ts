/** Finds places for Pods: at once for a new Pod, and later for one that waits. */

import type { Clock } from "../../kernel/clock.ts";
import { resourceId } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { because } from "../../kernel/reason.ts";
import { Allocator } from "../../machines/allocator.ts";
import { type InstanceItem, NOWHERE, placeOf } from "../../machines/instances.ts";
import type { Machine, NoRoom, Place } from "../../machines/place.ts";
import { Room } from "../../machines/room.ts";
import type { Bound, Write } from "../../ports/store/store.ts";
import type { QuotaBook } from "../account/quotas.ts";
import { hostName } from "../container/variables.ts";
import type { RegistryService } from "../registries/service.ts";
import type { SpendBook } from "../spending/service.ts";
import type { TemplateService } from "../templates/service.ts";
import type { NetworkVolumeService } from "../volumes/service.ts";
import { yieldsOf } from "./billed.ts";
import { refusalOf } from "./held.ts";
import type { KeptPodInstance, PodInstance } from "./instance.ts";
import { podInstanceLifecycle } from "./lifecycle.ts";
import type { KeptPod, LastPlace } from "./model.ts";
import { needOf } from "./need.ts";
import type { PodItem, PodRecords, PodSet, PodWish } from "./records.ts";
import type { Yielding } from "./yielding.ts";

export interface PlacerParts {
  podRecords: PodRecords;
  clock: Clock;
  random: Random;
  /** The machines that are up. */
  machines: () => Promise<readonly Machine[]>;
  yielding: Yielding;
  quotas: QuotaBook;
  spending: Pick<SpendBook, "refusal">;
  registries: RegistryService;
  templates: TemplateService;
  volumes: NetworkVolumeService;
}

type NewPod = { id: string; account: string; createdAt: number; doc: KeptPod };
/** Writes that go into the same commit, once the places are known. */
type Also = (places: readonly Place[], machines: readonly Machine[]) => Promise<readonly Write[]>;
/** What else changes for a Pod that is started at once. */
export interface AtOnce {
  set: PodSet;
}

type NewWish = PodWish & { id: string };

export class PodPlacer {
  readonly #parts: PlacerParts;
  readonly #allocator: Allocator;

  constructor(parts: PlacerParts) {
    this.#parts = parts;
    this.#allocator = new Allocator({ records: parts.podRecords.instances, machines: parts.machines });
  }

  /**
   * Records a new Pod together with its place, or neither. `check` may refuse it before each try. If others have to give way first, this
   * waits for them.
   */
  async create(pod: NewPod, check: () => Promise<void>, within: readonly Bound[]): Promise<PodInstance | NoRoom> {
    const wish = await this.#wish(pod);
    if ("reason" in wish) return wish;
    const placed = await this.#createOn([pod], [wish], checking(check), within);
    if (!("reason" in placed) || pod.doc.interruptible) return firstOf(placed);
    const leaving = await this.#parts.yielding.makeRoom(wish.need, pod.doc.name);
    if (leaving.length === 0) return placed;
    await this.#parts.yielding.gone(leaving);
    return firstOf(await this.#createOn([pod], [wish], checking(check), within));
  }

  /** Records Pods that are made alike, with their places and the record of their cluster, or nothing at all. */
  async createTogether(pods: readonly NewPod[], also: Also, within: readonly Bound[]): Promise<PodInstance[] | NoRoom> {
    const wishes: NewWish[] = [];
    for (const pod of pods) {
      const wish = await this.#wish(pod);
      if ("reason" in wish) return wish;
      wishes.push(wish);
    }
    return this.#createOn(pods, wishes, also, within);
  }

  async #createOn(
    pods: readonly NewPod[],
    wishes: readonly NewWish[],
    also: Also,
    within: readonly Bound[],
  ): Promise<PodInstance[] | NoRoom> {
    const { quotas, registries, templates, volumes, podRecords } = this.#parts;
    const { account, doc } = pods[0]!;
    const mounted = (doc.mounts.network ?? []).map(({ volumeId }) => volumeId);
    const machines = await this.#parts.machines();
    // Only the last Pod carries the bounds. It is counted together with all that were written before it.
    const inserting = (pod: NewPod, { id }: NewWish, place: Place) => {
      const where = { instance: id, last: lastPlace(place, machines), machines: [place.machine] };
      const bounds = pod === pods.at(-1) ? within : undefined;
      return podRecords.creating({ ...pod, doc: { ...pod.doc, ...where } }, bounds);
    };
    const judge = async (instances: readonly InstanceItem[], places?: readonly Place[]) => {
      const asked = { need: wishes[0]!.need, count: pods.length, places };
      const refusal = await refusalOf(account, asked, instances, quotas);
      if (refusal) throw problem("over-quota", refusal.text, { reason: refusal.code });
      return undefined;
    };
    const writes = async (places: readonly Place[]) => [
      ...pods.flatMap((pod, i) => inserting(pod, wishes[i]!, places[i]!)),
      ...(await also(places, machines)),
      ...(await registries.using(account, doc.registry)),
      ...(await templates.using(account, doc.template)),
      ...(await volumes.using(account, mounted)),
    ];
    return this.#allocator.allocateTogether(wishes, writes, judge);
  }

  /** Places a Pod that waits, or a stopped Pod that starts at once or not at all. Undefined if the Pod does not wait any more. */
  async place(pod: PodItem, atOnce?: AtOnce): Promise<PodInstance | NoRoom | undefined> {
    const { podRecords } = this.#parts;
    if ((await podRecords.instancesOf(pod.id)).length > 0) return { reason: because("still-ending") };
    const wish = await this.#wish({ ...pod, doc: { ...pod.doc, ...atOnce?.set } });
    if ("reason" in wish) return wish;
    const unpaid = await this.#parts.spending.refusal(pod.account, pod.doc.createdBy);
    if (unpaid) return { reason: unpaid.reason };
    const judge = async (instances: readonly InstanceItem[], places?: readonly Place[]) => {
      const asked = { need: wish.need, count: 1, places };
      const reason = await refusalOf(pod.account, asked, instances, this.#parts.quotas);
      return reason === undefined ? undefined : { reason };
    };
    const machines = await this.#parts.machines();
    const set = ({ doc }: PodItem, place: Place): PodSet => ({
      ...atOnce?.set,
      reason: because("about-to-start"),
      instance: wish.id,
      last: lastPlace(place, machines),
      machines: [...new Set([...doc.machines, place.machine])],
    });
    const move = atOnce ? "startNow" : "place";
    const placed = await podRecords.place(pod.id, { allocator: this.#allocator, wish, move, set, judge });
    if (!placed || !("reason" in placed) || pod.doc.interruptible) return placed;
    const leaving = await this.#parts.yielding.makeRoom(wish.need, pod.doc.name);
    return leaving.length === 0 ? placed : { reason: because("waits-for-yielding") };
  }

  /** Throws unless the machine of a Pod that has a place has room for so much more disk. A machine that is away is not asked. */
  async refuseMoreDisk({ doc }: PodInstance, moreGb: number): Promise<void> {
    if (moreGb <= 0) return;
    const { instances } = await this.#parts.podRecords.instances.counted();
    const room = new Room(await this.#parts.machines(), instances.flatMap(placeOf));
    const free = room.all().find(({ machine, box }) => machine.id === doc.machine && box.id === doc.box);
    if (!free || moreGb <= free.diskGb) return;
    const left = Math.max(0, free.diskGb);
    throw problem("no-capacity", `The Pod's machine has no ${moreGb} GB of disk more for it: ${left} GB are free.`);
  }

  async #wish(pod: NewPod): Promise<NewWish | NoRoom> {
    const { volumes, clock, random } = this.#parts;
    const named = pod.doc.mounts.network?.[0]?.volumeId;
    const volume = named === undefined ? undefined : await volumes.placeOf(pod.account, named);
    if (named !== undefined && !volume) return { reason: because("volume-gone", { volume: named }) };
    const id = `${pod.id}-${hostName(resourceId(random)).slice(-8)}`;
    const instance = (place: Place) => ({
      id,
      account: pod.account,
      createdAt: clock.now(),
      doc: newInstance(pod, place),
    });
    return { id, need: needOf(pod.doc, volume), instance };
  }
}

const checking =
  (check: () => Promise<void>): Also =>
  async () => {
    await check();
    return [];
  };

const firstOf = (placed: PodInstance[] | NoRoom): PodInstance | NoRoom => ("reason" in placed ? placed : placed[0]!);

function newInstance({ id, doc }: Pick<NewPod, "id" | "doc">, place: Place): KeptPodInstance {
  const about = { kind: "pod", owner: id, image: doc.image, template: doc.template } as const;
  const state = podInstanceLifecycle.begin("PLACED");
  const { createdBy = null, cloud } = doc;
  const nothingYet = { createdBy, cloud, keyId: null, boots: 0, bootedAt: null, startedAt: null, reason: null };
  const volumes = doc.mounts.network?.map(({ volumeId }) => volumeId);
  const member = doc.cluster && { cluster: doc.cluster.id };
  return {
    ...NOWHERE,
    ...place,
    ...about,
    state,
    ...nothingYet,
    ...yieldsOf(doc),
    ...(volumes && { volumes }),
    ...member,
  };
}

function lastPlace(place: Place, machines: readonly Machine[]): LastPlace {
  const { machine, dataCenter, gpuType, gpuCount, flavor, vcpu, memoryMb } = place;
  const box = machines.find(({ id }) => id === machine)?.boxes.find(({ id }) => id === place.box);
  const virtual = box?.gpus.find(({ type }) => type === gpuType)?.virtual ?? false;
  const cuda = gpuType === null ? null : (box?.cuda ?? null);
  return { machine, dataCenter, gpuType, gpuCount, flavor, vcpu, memoryMb, cuda, virtual };
}
