/** What there is of the catalog's types on the machines of the installation, counted at most once a second. */
import { type CpuFlavor, dataCenters, type GpuType } from "../../catalog/compute.ts";
import type { Clock } from "../../kernel/clock.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { type InstanceItem, placeOf } from "../../machines/instances.ts";
import type { Machine } from "../../machines/place.ts";
import { type GpuWish, type Installed, Stock, type Stocked, type StockedIn } from "./stock.ts";

export interface CatalogParts {
  clock: Clock;
  /** Those that are there. */
  machines: () => Promise<readonly Machine[]>;
  /** Instances of every kind, since all of them take room. */
  instances: () => Promise<readonly InstanceItem[]>;
}

/** What a caller wants to know of a GPU type. */
export interface GpuAsk extends GpuWish {
  countryCodes?: readonly string[];
  /** Only in data centers that comply with all of these. */
  compliance?: readonly string[];
}

/** What is free of a type now, and what there is of it. */
export interface GpuOffer extends Stocked {
  installed: Installed;
}

/** Free now, where, and on which CUDA. */
export interface GpuSupply extends Stocked {
  /** Whether any machine that was asked for has it. */
  isThere: boolean;
  dataCenters: StockedIn[];
  cudaVersions: { version: string; available: boolean }[];
}

export type CpuSupply = Stocked & { dataCenters: StockedIn[] };

/** What each data center has. */
export type ByDataCenter = ReadonlyMap<string, StockedIn[]>;

const REMEMBERED_MS = 1000;
/** What is asked for comes from anybody: neither many nor long ones are kept. */
const MOST_SHARED = 5000;
const LONGEST_SHARED = 500;

/** What everybody who asks within a second is answered from. */
interface Moment {
  stock?: Promise<Stock>;
  shared: Map<string, unknown>;
}

export class CatalogService {
  readonly #parts: CatalogParts;
  readonly #remembered: Remembered<Moment>;

  constructor(parts: CatalogParts) {
    this.#parts = parts;
    this.#remembered = new Remembered(parts.clock, REMEMBERED_MS);
  }

  /** Of each of these types. */
  async gpus(types: readonly GpuType[], ask: GpuAsk): Promise<GpuSupply[]> {
    const stock = await this.#stock();
    const asked = wishOf(ask);
    return types.map((type) => {
      const found = stock.gpu(type, asked);
      return {
        ...(found ?? NONE),
        isThere: found !== undefined,
        dataCenters: stock.gpuByDataCenter(type, asked),
        cudaVersions: stock.cudaVersions(type, asked),
      };
    });
  }

  /** The same of one, without where it is. */
  async offer(type: GpuType, ask: GpuAsk): Promise<GpuOffer> {
    const stock = await this.#stock();
    const wish = wishOf(ask);
    return { ...(stock.gpu(type, wish) ?? NONE), installed: stock.installed(type, wish) };
  }

  /** The CUDA of machines that have a type, the newest first, and whether it is free there. */
  async cudaVersions(type: GpuType, ask: GpuAsk): Promise<GpuSupply["cudaVersions"]> {
    return (await this.#stock()).cudaVersions(type, wishOf(ask));
  }

  /** Of one size of a flavor, anywhere or in one data center. */
  async cpu(flavor: CpuFlavor, vcpu: number, dataCenter?: string): Promise<Stocked> {
    return (await this.#stock()).cpu(flavor, vcpu, dataCenter === undefined ? undefined : [dataCenter]) ?? NONE;
  }

  async cpus(flavors: readonly CpuFlavor[], vcpu?: number): Promise<CpuSupply[]> {
    const stock = await this.#stock();
    return flavors.map((flavor) => {
      const size = vcpu ?? flavor.minVcpu;
      return { ...(stock.cpu(flavor, size) ?? NONE), dataCenters: stock.cpuByDataCenter(flavor, size) };
    });
  }

  /** By data center, those of these types that machines there have, for one GPU where nothing else is asked for. */
  async gpusByDataCenter(types: readonly GpuType[], ask: GpuAsk = { count: 1 }): Promise<ByDataCenter> {
    const stock = await this.#stock();
    const wish = wishOf(ask);
    return byDataCenter(types, (type) => stock.gpuByDataCenter(type, wish));
  }

  /** By data center, those of these flavors that machines there have, each in its smallest size. */
  async cpusByDataCenter(flavors: readonly CpuFlavor[]): Promise<ByDataCenter> {
    const stock = await this.#stock();
    return byDataCenter(flavors, (flavor) => stock.cpuByDataCenter(flavor, flavor.minVcpu));
  }

  /** What follows from the catalog and the stock of this moment: reckoned once for all who ask for the same. */
  shared<T>(name: string, reckon: () => T): T {
    const { shared } = this.#moment();
    if (shared.has(name)) return shared.get(name) as T;
    const reckoned = reckon();
    if (shared.size < MOST_SHARED && name.length <= LONGEST_SHARED) shared.set(name, reckoned);
    return reckoned;
  }

  /** Those who ask while it is counted get the same count. A count that failed is not remembered, nor what followed from it. */
  #stock(): Promise<Stock> {
    const moment = this.#moment();
    moment.stock ??= this.#count().catch((error) => {
      this.#remembered.clear();
      throw error;
    });
    return moment.stock;
  }

  #moment(): Moment {
    const known = this.#remembered.get("");
    if (known) return known;
    const moment: Moment = { shared: new Map() };
    this.#remembered.set("", moment);
    return moment;
  }

  async #count(): Promise<Stock> {
    const [machines, instances] = await Promise.all([this.#parts.machines(), this.#parts.instances()]);
    return new Stock(machines, instances.flatMap(placeOf));
  }
}

const NONE: Stocked = { availability: "NONE" };

function byDataCenter<T extends { id: string; name: string }>(
  things: readonly T[],
  find: (thing: T) => StockedIn[],
): ByDataCenter {
  const found = things.flatMap((thing) =>
    find(thing).map(({ id: dataCenter, name: _, ...stocked }) => {
      return { dataCenter, stocked: { id: thing.id, name: thing.name, ...stocked } };
    }),
  );
  const grouped = Map.groupBy(found, ({ dataCenter }) => dataCenter);
  return new Map([...grouped].map(([id, all]) => [id, all.map(({ stocked }) => stocked)]));
}

/** Where something may be: whatever is asked of data centers, they have to have all of it. */
function wishOf({ countryCodes, compliance = [], dataCenters: ids, ...wish }: GpuAsk): GpuWish {
  if (!countryCodes && !ids && compliance.length === 0) return wish;
  const meant = dataCenters().filter(
    (one) =>
      (!ids || ids.includes(one.id)) &&
      (!countryCodes || countryCodes.includes(one.country ?? "")) &&
      compliance.every((word) => (one.compliance as readonly string[]).includes(word)),
  );
  return { ...wish, dataCenters: meant.map(({ id }) => id) };
}
