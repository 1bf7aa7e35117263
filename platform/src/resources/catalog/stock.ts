/** What the machines of the installation have of the catalog's types at one moment, and how much of it is free. */
import { type CpuFlavor, dataCenters, type GpuType } from "../../catalog/compute.ts";
import type { Availability } from "../../catalog/words.ts";
import type { Need } from "../../machines/need.ts";
import { freeGpus, type Machine, type Place } from "../../machines/place.ts";
import { Room } from "../../machines/room.ts";
import { hasLeastOfAny } from "../../machines/shares.ts";
import { compareVersions, standsIn } from "../../machines/terms.ts";
import type { Box } from "../../ports/compute/compute.ts";

const MB_PER_GB = 1024;
/** From this many free places on, availability counts as high. */
const MANY = 8;

export interface GpuWish {
  count: number;
  cuda?: Need["cuda"];
  /** Limits the question to these data centers. */
  dataCenters?: readonly string[];
  /** The least vCPU and memory of an instance as a whole. */
  least?: { vcpu?: number; memoryGb?: number };
  diskGb?: number;
  /** Limits the question to machines whose instances can be members of a cluster. */
  groups?: boolean;
}

/** How many GPUs of a type the machines in question have. */
export interface Installed {
  total: number;
  free: number;
  /** The most GPUs of a single box, in total and free. */
  most: number;
  mostFree: number;
}

interface Standing {
  machine: Machine;
  box: Box;
}

export interface Stocked {
  availability: Availability;
  virtual?: true;
}

/** The availability of something in a data center, or of a type there: `id` and `name` say which. */
export type StockedIn = Stocked & { id: string; name: string };

export class Stock {
  readonly #room: Room;
  readonly #boxes: Standing[];

  constructor(machines: readonly Machine[], taken: Iterable<Place>) {
    this.#room = new Room(machines, taken);
    this.#boxes = machines.flatMap((machine) => machine.boxes.map((box) => ({ machine, box })));
  }

  /** Undefined if no machine has the type. */
  gpu(type: GpuType, wish: GpuWish): Stocked | undefined {
    const having = this.#having(type.id).filter((one) => isMeant(one, wish));
    if (having.length === 0) return undefined;
    const isVirtual = having.every(({ box }) => stockIn(box, type.id)?.virtual);
    return { availability: levelOf(this.#room.fitting(needOf(type, wish))), ...(isVirtual && { virtual: true }) };
  }

  /** Counts all boxes that suit the wish, including GPUs that are taken. */
  installed(type: GpuType, wish: GpuWish): Installed {
    const need = needOf(type, { ...wish, diskGb: 0 });
    const boxes = this.#room.suiting(need).filter((one) => isMeant(one, wish) && hasLeastOfAny(need, one));
    const counts = boxes.map((free) => ({
      all: stockIn(free.box, type.id)?.count ?? 0,
      free: freeGpus(free, type.id),
    }));
    return {
      total: counts.reduce((sum, { all }) => sum + all, 0),
      free: counts.reduce((sum, { free }) => sum + free, 0),
      most: Math.max(0, ...counts.map(({ all }) => all)),
      mostFree: Math.max(0, ...counts.map(({ free }) => free)),
    };
  }

  gpuByDataCenter(type: GpuType, wish: GpuWish): StockedIn[] {
    return this.#byDataCenter(this.#having(type.id), wish.dataCenters, (ids) =>
      this.gpu(type, { ...wish, dataCenters: ids }),
    );
  }

  /** The CUDA versions of machines that have a type, the newest first, and whether the type is free on one of them. */
  cudaVersions(type: GpuType, { count, dataCenters }: GpuWish): { version: string; available: boolean }[] {
    const having = this.#having(type.id).filter((one) => isInOneOf(one, dataCenters));
    const byVersion = Map.groupBy(having, ({ box }) => box.cuda);
    return [...byVersion]
      .flatMap(([version, boxes]) => (version === undefined ? [] : [{ version, machines: machinesOf(boxes) }]))
      .toSorted((a, b) => compareVersions(b.version, a.version))
      .map(({ version, machines }) => ({ version, available: machines.some((id) => this.#fits(type, count, id)) }));
  }

  cpu(flavor: CpuFlavor, vcpu: number, dataCenters?: readonly string[]): Stocked | undefined {
    if (!this.#boxes.some((one) => isInOneOf(one, dataCenters))) return undefined;
    if (vcpu > flavor.maxVcpu || vcpu < flavor.minVcpu) return { availability: "NONE" };
    const share = { vcpu, memoryMb: vcpu * flavor.ramGbPerVcpu * MB_PER_GB };
    const need: Need = { kind: "cpu", flavors: [share], diskGb: 0, ...terms(dataCenters) };
    return { availability: levelOf(this.#room.fitting(need)) };
  }

  cpuByDataCenter(flavor: CpuFlavor, vcpu: number): StockedIn[] {
    return this.#byDataCenter(this.#boxes, undefined, (ids) => this.cpu(flavor, vcpu, ids));
  }

  /** Data centers that have the same machines also have the same stock, so it is counted once for all of them. */
  #byDataCenter(
    having: readonly Standing[],
    asked: readonly string[] | undefined,
    count: (ids: string[]) => Stocked | undefined,
  ): StockedIn[] {
    const own = new Set(having.map(({ machine }) => machine.dataCenter));
    const counted = new Map<string, Stocked | undefined>();
    return dataCenters()
      .filter(({ id }) => !asked || asked.includes(id))
      .flatMap(({ id, name }) => {
        const site = own.has(id) ? id : "";
        if (!counted.has(site)) counted.set(site, count([id]));
        const stocked = counted.get(site);
        return stocked ? [{ id, name, ...stocked }] : [];
      });
  }

  #having(type: string): Standing[] {
    return this.#boxes.filter(({ box }) => (stockIn(box, type)?.count ?? 0) > 0);
  }

  #fits(type: GpuType, count: number, machine: string): boolean {
    const each = { type: type.id, vcpu: type.share.vcpu, memoryMb: type.share.memoryGb * MB_PER_GB };
    return this.#room.fitting({ kind: "gpu", count, types: [each], diskGb: 0, machine }) > 0;
  }
}

const stockIn = ({ gpus }: Box, type: string) => gpus.find((stock) => stock.type === type);

function needOf({ id: type, share }: GpuType, { count, cuda, dataCenters, least, diskGb = 0, groups }: GpuWish): Need {
  const each = { vcpu: (least?.vcpu ?? 0) / count, memoryMb: ((least?.memoryGb ?? 0) * MB_PER_GB) / count };
  const byCatalog = { vcpu: share.vcpu, memoryMb: share.memoryGb * MB_PER_GB };
  const types = [{ type, ...byCatalog, ...(least && { least: each }) }];
  return { kind: "gpu", count, types, diskGb, ...(cuda && { cuda }), ...terms(dataCenters), ...(groups && { groups }) };
}

const isMeant = (standing: Standing, { dataCenters, groups }: GpuWish) =>
  isInOneOf(standing, dataCenters) && (!groups || standing.machine.groups === true);

const isInOneOf = (standing: Standing, ids: readonly string[] | undefined) =>
  !ids || ids.some((id) => standsIn(standing, id));

const terms = (ids: readonly string[] | undefined) => (ids ? { dataCenters: ids } : {});

const machinesOf = (boxes: readonly Standing[]) => [...new Set(boxes.map(({ machine }) => machine.id))];

function levelOf(fitting: number): Availability {
  if (fitting >= MANY) return "HIGH";
  return fitting > 1 ? "MEDIUM" : fitting === 1 ? "LOW" : "NONE";
}
