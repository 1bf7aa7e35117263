/** Reports how many of the catalog's types the machines of the installation have and how many are free. Counts at most once a second. */
import { type CpuFlavor, dataCenters, type GpuType } from "../../catalog/compute.ts";
import type { Clock } from "../../kernel/clock.ts";
import { Remembered } from "../../kernel/remembered.ts";
import { type InstanceItem, placeOf } from "../../machines/instances.ts";
import type { Machine } from "../../machines/place.ts";
import { type GpuWish, type Installed, Stock, type Stocked, type StockedIn } from "./stock.ts";

export interface CatalogParts {
  clock: Clock;
  /** The machines that are up. */
  machines: () => Promise<readonly Machine[]>;
  /** Instances of every kind, since all of them take room. */
  instances: () => Promise<readonly InstanceItem[]>;
}

/** A caller's question about a GPU type. */
export interface GpuAsk extends GpuWish {
  countryCodes?: readonly string[];
  /** Counts only data centers that comply with all of these. */
  compliance?: readonly string[];
}

/** How much of a type is free now, and how much there is in total. */
export interface GpuOffer extends Stocked {
  installed: Installed;
}

/** Where a type is free now, and with which CUDA versions. */
export interface GpuSupply extends Stocked {
  /** True if any of the machines that the caller asked about has the type. */
  isThere: boolean;
  dataCenters: StockedIn[];
  cudaVersions: { version: string; available: boolean }[];
}

export type CpuSupply = Stocked & { dataCenters: StockedIn[] };

/** The stock of each data center, by its id. */
export type ByDataCenter = ReadonlyMap<string, StockedIn[]>;

const REMEMBERED_MS = 1000;
/** Anybody can ask, so these bound how many questions are remembered and how long their text may be. */
const MOST_SHARED = 5000;
const LONGEST_SHARED = 500;

/** Everyone who asks within the same second gets answers from this. */
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

  /** Like `gpus` for one type, but with totals instead of places. */
  async offer(type: GpuType, ask: GpuAsk): Promise<GpuOffer> {
    const stock = await this.#stock();
    const wish = wishOf(ask);
    return { ...(stock.gpu(type, wish) ?? NONE), installed: stock.installed(type, wish) };
  }

  /** The CUDA versions of machines that have a type, the newest first, and whether the type is free on them. */
  async cudaVersions(type: GpuType, ask: GpuAsk): Promise<GpuSupply["cudaVersions"]> {
    return (await this.#stock()).cudaVersions(type, wishOf(ask));
  }

  /** The availability of one size of a flavor, anywhere or in one data center. */
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

  /** The GPU types that each data center has. Asks for one GPU by default. */
  async gpusByDataCenter(types: readonly GpuType[], ask: GpuAsk = { count: 1 }): Promise<ByDataCenter> {
    const stock = await this.#stock();
    const wish = wishOf(ask);
    return byDataCenter(types, (type) => stock.gpuByDataCenter(type, wish));
  }

  /** The CPU flavors that each data center has, each in its smallest size. */
  async cpusByDataCenter(flavors: readonly CpuFlavor[]): Promise<ByDataCenter> {
    const stock = await this.#stock();
    return byDataCenter(flavors, (flavor) => stock.cpuByDataCenter(flavor, flavor.minVcpu));
  }

  /**
   * Remembers a result that depends only on the catalog and the current stock. Within the same second it is computed once for all callers.
   */
  shared<T>(name: string, reckon: () => T): T {
    const { shared } = this.#moment();
    if (shared.has(name)) return shared.get(name) as T;
    const reckoned = reckon();
    if (shared.size < MOST_SHARED && name.length <= LONGEST_SHARED) shared.set(name, reckoned);
    return reckoned;
  }

  /** Callers who ask during a count share it. A failed count is forgotten, together with the results that were derived from it. */
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

/** Turns all conditions on data centers into a list of those that meet every one of them. */
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
