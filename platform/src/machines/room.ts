/** Finds a box with room for an instance. GPU types and CPU flavors are tried in the order that its owner prefers. */
import { because, type Reason } from "../kernel/reason.ts";
import type { Box } from "../ports/compute/compute.ts";
import type { Need, Share } from "./need.ts";
import { absenceIn, type Free, freeGpus, type Machine, type NoRoom, type Place } from "./place.ts";
import { hasLeast, shareWith } from "./shares.ts";
import { type Shortage, shortageBeside, shortageOf } from "./shortage.ts";
import { sharingSets, whyApart } from "./spread.ts";
import { misfitOf } from "./terms.ts";

/** What is free on all machines. A place that is taken is no longer free for the next instance. */
export class Room {
  readonly #boxes: Free[];

  constructor(machines: readonly Machine[], taken: Iterable<Place> = []) {
    this.#boxes = machines.flatMap((machine) => machine.boxes.map((box) => freeOf(machine, box)));
    for (const place of taken) this.reserve(place);
  }

  /** Takes the place with the most room for the first choice that fits. */
  take(need: Need): Place | NoRoom {
    const place = this.#find(need);
    if (place) this.reserve(place);
    return place ?? { reason: because("no-capacity", { ...this.#shortage(need) }) };
  }

  /** Takes a place for the first need that finds one. Otherwise returns why the first need does not. */
  takeFirst(needs: readonly [Need, ...Need[]]): Place | NoRoom {
    const [first, ...more] = needs;
    const found = this.take(first);
    for (const need of "reason" in found ? more : []) {
      const place = this.take(need);
      if (!("reason" in place)) return place;
    }
    return found;
  }

  /** Takes places for all needs or for none. A gang with a missing member would hold room that others could use. */
  takeAll(needs: readonly Need[]): Place[] | NoRoom {
    const places: Place[] = [];
    for (const need of needs) {
      const place = this.take(need);
      if ("reason" in place) {
        const shortage = this.#shortage(need);
        for (const one of places) this.release(one);
        return places.length === 0 ? place : { reason: shortBeside(places.length, needs, shortage) };
      }
      places.push(place);
    }
    return places;
  }

  /**
   * Takes all places on one machine, in any of its boxes. If no machine has room for all, takes them on as few machines as possible that
   * can share a network.
   */
  takeTogether(needs: readonly Need[]): Place[] | NoRoom {
    const [first] = needs;
    const ids = new Set(first && this.suiting(first).map(({ machine }) => machine.id));
    for (const id of ids) {
      const places = this.takeAll(needs.map((need) => ({ ...need, machine: need.machine ?? id })));
      if (!("reason" in places)) return places;
    }
    return this.#takeAcross(needs) ?? this.#apart(needs);
  }

  #takeAcross(needs: readonly Need[]): Place[] | undefined {
    const [first] = needs;
    if (!first || first.machine !== undefined) return undefined;
    const suiting = [...new Set(this.suiting(first).map(({ machine }) => machine))];
    for (const machines of sharingSets(suiting, first.runs)) {
      const fitting = new Map(machines.map(({ id }) => [id, this.fitting({ ...first, machine: id })]));
      const places = this.#fill(
        needs,
        [...fitting.keys()].toSorted((a, b) => fitting.get(b)! - fitting.get(a)!),
      );
      if (places) return places;
    }
    return undefined;
  }

  /** Fills one machine after the other, so that neighbours in the order of needs are on the same machine where possible. */
  #fill(needs: readonly Need[], machines: readonly string[]): Place[] | undefined {
    const places: Place[] = [];
    for (const machine of machines)
      for (const need of needs.slice(places.length)) {
        const place = this.take({ ...need, machine });
        if ("reason" in place) break;
        places.push(place);
      }
    if (places.length === needs.length) return places;
    for (const place of places) this.release(place);
    return undefined;
  }

  /** Why needs that find no place on one machine, nor on several that share a network, find none at all. */
  #apart(needs: readonly Need[]): NoRoom {
    const spread = this.takeAll(needs);
    if ("reason" in spread) return spread;
    for (const place of spread) this.release(place);
    const used = new Set(spread.map(({ machine }) => machine));
    const machines = new Map(this.#boxes.map(({ machine }) => [machine.id, machine]));
    const among = [...used].map((id) => machines.get(id)!);
    return { reason: whyApart(needs.length, among, needs[0]?.runs) };
  }

  /** How many instances with this need would fit side by side now, using the first of its choices. */
  fitting(need: Need): number {
    return this.suiting(need).reduce((sum, free) => sum + timesIn(free, need), 0);
  }

  all(): readonly Free[] {
    return this.#boxes;
  }

  /**
   * The boxes that suit this need, whether or not they have room, with what is free in each. A box whose driver is away counts only where
   * nothing else suits, and one that has no such driver only after that: an instance there says what its owner has to install.
   */
  suiting(need: Need): readonly Free[] {
    const suiting = this.#boxes.filter((free) => misfitOf(need, free) === undefined);
    const ready = suiting.filter(({ machine }) => !absenceIn(machine, need));
    if (ready.length > 0) return ready;
    const away = suiting.filter(({ machine }) => !absenceIn(machine, need)?.isNone);
    return away.length > 0 ? away : suiting;
  }

  #shortage(need: Need): Shortage {
    const suiting = this.suiting(need);
    if (suiting.length === 0) return shortageOf(need, this.#boxes);
    const away = this.#boxes.filter((free) => !suiting.includes(free) && misfitOf(need, free) === undefined);
    return shortageBeside(away.length, need, shortageOf(need, suiting));
  }

  /** Returns the place that there would be if the instances at these places were gone. */
  placeWithout(gone: readonly Place[], need: Need): Place | undefined {
    for (const place of gone) this.release(place);
    const found = this.#find(need);
    for (const place of gone) this.reserve(place);
    return found;
  }

  /** Nobody else gets this place, even if it is not free yet. */
  reserve(place: Place): void {
    this.#move(place, -1);
  }

  release(place: Place): void {
    this.#move(place, 1);
  }

  #move({ machine, box, vcpu, memoryMb, diskGb, gpuType, gpuCount }: Place, by: 1 | -1): void {
    const free = this.#boxes.find((one) => one.machine.id === machine && one.box.id === box);
    if (!free) return;
    if (!free.box.ceilings) {
      free.vcpu += by * vcpu;
      free.memoryMb += by * memoryMb;
      free.diskGb += by * diskGb;
    }
    if (gpuType !== null) free.gpus.set(gpuType, (free.gpus.get(gpuType) ?? 0) + by * gpuCount);
  }

  #find(need: Need): Place | undefined {
    const fitting = this.suiting(need);
    if (need.kind === "cpu") {
      for (const flavor of need.flavors) {
        const free = roomiest(fitting, (one) => fits(flavor, one));
        if (free) return placeIn(free, need, flavor, { flavor: flavor.id ?? null, gpuType: null, gpuCount: 0 });
      }
      return undefined;
    }
    const { count } = need;
    for (const choice of need.types) {
      const { type } = choice;
      const hasRoom = (one: Free) =>
        freeGpus(one, type) >= count && fits(shareWith(choice, count, one), one) && hasLeast(choice, count, one);
      const free = roomiest(fitting, hasRoom);
      if (!free) continue;
      return placeIn(free, need, shareWith(choice, count, free), { flavor: null, gpuType: type, gpuCount: count });
    }
    return undefined;
  }
}

/** Says that some of the instances found room and the next one did not. */
const shortBeside = (fitting: number, needs: readonly Need[], shortage: Shortage): Reason =>
  because("no-capacity", { ...shortage, fitting, wanted: needs.length });

/** Spreads instances over machines, so that a machine that dies takes as few as possible with it. */
function roomiest(boxes: readonly Free[], suits: (free: Free) => boolean): Free | undefined {
  return boxes
    .filter(suits)
    .reduce<Free | undefined>((best, next) => (best && best.vcpu >= next.vcpu ? best : next), undefined);
}

function freeOf(machine: Machine, box: Box): Free {
  const { vcpu, memoryMb, diskGb, gpus } = box;
  return { machine, box, vcpu, memoryMb, diskGb, gpus: new Map(gpus.map(({ type, count }) => [type, count])) };
}

function placeIn(
  { machine, box }: Free,
  { diskGb, keepsDisk = false, dataCenters = [] }: Need,
  share: Share,
  what: Pick<Place, "flavor" | "gpuType" | "gpuCount">,
): Place {
  const isAsked = dataCenters.length === 0 || dataCenters.includes(machine.dataCenter);
  const where = { machine: machine.id, box: box.id, dataCenter: isAsked ? machine.dataCenter : dataCenters[0]! };
  return { ...where, ...granted(share, box), diskGb: keepsDisk ? diskGb : 0, ...what };
}

const fits = (share: Share, { box, vcpu, memoryMb }: Free) =>
  box.ceilings || (share.vcpu <= vcpu && share.memoryMb <= memoryMb);

function timesIn(free: Free, need: Need): number {
  if (need.kind === "cpu") return timesOf(need.flavors[0]!, free);
  const choice = need.types[0]!;
  const ofDevices = Math.floor(freeGpus(free, choice.type) / need.count);
  if (ofDevices === 0 || !hasLeast(choice, need.count, free)) return 0;
  return Math.min(ofDevices, timesOf(shareWith(choice, need.count, free), free));
}

const timesOf = (share: Share, { box, vcpu, memoryMb }: Free) =>
  box.ceilings
    ? Number.POSITIVE_INFINITY
    : Math.max(0, Math.floor(Math.min(vcpu / share.vcpu, memoryMb / share.memoryMb)));

/** If shares are ceilings, an instance may ask for more than the whole box. Then it gets the whole box. */
const granted = (share: Share, box: Box): Share => ({
  vcpu: Math.min(share.vcpu, box.vcpu),
  memoryMb: Math.min(share.memoryMb, box.memoryMb),
});
