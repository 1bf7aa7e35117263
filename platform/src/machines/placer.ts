/** Which machine has room for a worker: GPU types and CPU flavors in the order in which the endpoint prefers them. */
import type { Capacity } from "../ports/compute/compute.ts";

export interface Share {
  vcpu: number;
  memoryMb: number;
}

/** What one worker needs: the first of these that fits somewhere. */
export type Need =
  | { kind: "cpu"; flavors: readonly Share[] }
  | { kind: "gpu"; count: number; types: readonly (Share & { type: string })[] };

export interface Machine {
  id: string;
  capacity: Capacity;
}

export interface Place extends Share {
  machine: string;
  gpuType: string | null;
  gpus: string[];
}

/** A reason, as people read it. */
export interface NoRoom {
  reason: string;
}

interface Free extends Share {
  id: string;
  ceilings: boolean;
  whole: Share;
  /** How many devices the machine has in all. */
  devices: number;
  gpus: Map<string, string[]>;
}

/** What is free on all machines. Every place that is taken from it is no longer free for the next. */
export class Room {
  readonly #machines: Free[];
  readonly #total = new Map<string, number>();

  constructor(machines: readonly Machine[], taken: Iterable<Place> = []) {
    this.#machines = machines.map(({ id, capacity }) => freeOf(id, capacity));
    for (const { capacity } of machines)
      for (const { type } of capacity.gpus) this.#total.set(type, (this.#total.get(type) ?? 0) + 1);
    for (const place of taken) this.reserve(place);
  }

  /** The place with most room for the first choice that fits; it is taken from then on. */
  take(need: Need): Place | NoRoom {
    const place = this.#find(need);
    if (place) this.reserve(place);
    return place ?? { reason: `no capacity: ${this.#shortage(need)}` };
  }

  /** The place that there would be if those at these places were gone. */
  placeWithout(gone: readonly Place[], need: Need): Place | undefined {
    for (const place of gone) this.#at(place, release);
    const found = this.#find(need);
    for (const place of gone) this.reserve(place);
    return found;
  }

  /** Nobody else gets this place, also when it is not free yet. */
  reserve(place: Place): void {
    this.#at(place, reserve);
  }

  #at(place: Place, act: (machine: Free, place: Place) => void): void {
    const machine = this.#machines.find(({ id }) => id === place.machine);
    if (machine) act(machine, place);
  }

  #find(need: Need): Place | undefined {
    return need.kind === "cpu" ? this.#cpu(need.flavors) : this.#gpu(need);
  }

  #cpu(flavors: readonly Share[]): Place | undefined {
    for (const share of flavors) {
      const machine = this.#roomiest((free) => fits(share, free));
      if (machine) return { machine: machine.id, ...granted(share, machine), gpuType: null, gpus: [] };
    }
    return undefined;
  }

  #gpu({ count, types }: Extract<Need, { kind: "gpu" }>): Place | undefined {
    for (const { type, ...each } of types) {
      const hasRoom = (free: Free) =>
        (free.gpus.get(type)?.length ?? 0) >= count && fits(shareWith(each, count, free), free);
      const machine = this.#roomiest(hasRoom);
      if (!machine) continue;
      const gpus = machine.gpus.get(type)!.slice(0, count);
      return { machine: machine.id, ...granted(shareWith(each, count, machine), machine), gpuType: type, gpus };
    }
    return undefined;
  }

  /** Spreads workers: a machine that dies takes as few of them along as can be. */
  #roomiest(suits: (machine: Free) => boolean): Free | undefined {
    return this.#machines
      .filter(suits)
      .reduce<Free | undefined>((best, next) => (best && best.vcpu >= next.vcpu ? best : next), undefined);
  }

  #shortage(need: Need): string {
    if (this.#machines.length === 0) return "no machine is there to run workers";
    if (need.kind === "cpu") return this.#shortOfCpu(need.flavors[0]!);
    const { count, types } = need;
    const total = types.reduce((sum, { type }) => sum + (this.#total.get(type) ?? 0), 0);
    const free = types.reduce((sum, { type }) => sum + this.#freeOf(type), 0);
    const short = `needs ${count}x ${oneOf(types.map(({ type }) => type))}, ${free} of ${total} free`;
    const devices = Math.max(
      ...types.flatMap(({ type }) => this.#machines.map(({ gpus }) => gpus.get(type)?.length ?? 0)),
    );
    if (free < count) return short;
    return devices < count ? `${short}, but not on one machine` : `${short}, but too little CPU or memory beside them`;
  }

  #shortOfCpu({ vcpu, memoryMb }: Share): string {
    const most = (of: keyof Share) => Math.max(0, ...this.#machines.map((machine) => machine[of]));
    return `needs ${vcpu} vCPU and ${gb(memoryMb)}, at most ${most("vcpu")} vCPU and ${gb(most("memoryMb"))} free on a machine`;
  }

  #freeOf(type: string): number {
    return this.#machines.reduce((sum, { gpus }) => sum + (gpus.get(type)?.length ?? 0), 0);
  }
}

function freeOf(id: string, { vcpu, memoryMb, gpus, ceilings }: Capacity): Free {
  const byType = new Map<string, string[]>();
  for (const { id: device, type } of gpus) {
    const devices = byType.get(type);
    if (devices) devices.push(device);
    else byType.set(type, [device]);
  }
  return { id, vcpu, memoryMb, ceilings, whole: { vcpu, memoryMb }, devices: gpus.length, gpus: byType };
}

function reserve(machine: Free, { vcpu, memoryMb, gpuType, gpus }: Place): void {
  if (!machine.ceilings) {
    machine.vcpu -= vcpu;
    machine.memoryMb -= memoryMb;
  }
  const free = gpuType === null ? undefined : machine.gpus.get(gpuType);
  if (free)
    machine.gpus.set(
      gpuType!,
      free.filter((device) => !gpus.includes(device)),
    );
}

function release(machine: Free, { vcpu, memoryMb, gpuType, gpus }: Place): void {
  if (!machine.ceilings) {
    machine.vcpu += vcpu;
    machine.memoryMb += memoryMb;
  }
  if (gpuType !== null) machine.gpus.set(gpuType, [...(machine.gpus.get(gpuType) ?? []), ...gpus]);
}

/**
 * What goes with devices: what the catalog says, but no more than their part of this machine. The catalog describes the machines of
 * others; a box with a large GPU and few cores must still run its workers.
 */
function shareWith(each: Share, count: number, { whole, devices, ceilings }: Free): Share {
  const asked = { vcpu: each.vcpu * count, memoryMb: each.memoryMb * count };
  if (ceilings) return asked;
  const part = count / devices;
  return {
    vcpu: Math.min(asked.vcpu, Math.max(1, Math.floor(whole.vcpu * part))),
    memoryMb: Math.min(asked.memoryMb, Math.floor(whole.memoryMb * part)),
  };
}

const fits = (share: Share, { ceilings, vcpu, memoryMb }: Free) =>
  ceilings || (share.vcpu <= vcpu && share.memoryMb <= memoryMb);

/** Where shares are ceilings, a worker may ask for more than the whole machine: it gets that. */
const granted = (share: Share, { whole }: Free): Share => ({
  vcpu: Math.min(share.vcpu, whole.vcpu),
  memoryMb: Math.min(share.memoryMb, whole.memoryMb),
});

const SHOWN_TYPES = 3;

function oneOf(types: readonly string[]): string {
  if (types.length <= SHOWN_TYPES) return types.join(" or ");
  return `${types.slice(0, SHOWN_TYPES - 1).join(", ")} or one of ${types.length - SHOWN_TYPES + 1} other types`;
}

const gb = (memoryMb: number) => `${Math.round(memoryMb / 1024)} GB`;
