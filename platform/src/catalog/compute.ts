/** The catalog of this installation, for all parts that ask it: types, flavors, data centers and prices. */
import { type Catalog, type CpuFlavor, type DataCenter, type GpuType, standardCatalog } from "./catalog.ts";
import { cpuPriceIn, gpuPriceIn, type PricedKind, spotPriceIn, volumePricesIn } from "./prices.ts";
import type { Cloud, VolumeType } from "./words.ts";

export type { CpuFlavor, DataCenter, GpuType } from "./catalog.ts";

/** The catalog from the files. */
let base: Catalog = standardCatalog();
/** The same with later price changes. This is what everyone reads. */
let catalog: Catalog = base;

/** Makes everyone read this catalog until it is disposed. Called once at the start, before anything reads it. */
export function installCatalog(next: Catalog): Disposable {
  const before = base;
  base = next;
  catalog = next;
  return {
    [Symbol.dispose]() {
      base = before;
      catalog = before;
    },
  };
}

/** The catalog from the files, whichever prices are in force. */
export const baseCatalog = (): Catalog => base;

/** Makes everyone read these prices. Disposing restores those of the files. */
export function installPrices(next: Catalog): Disposable {
  catalog = next;
  return {
    [Symbol.dispose]() {
      catalog = base;
    },
  };
}

export const gpuTypes = (): GpuType[] => [...catalog.gpus.values()];
export const gpuTypeIds = (): string[] => [...catalog.gpus.keys()];
export const poolIds = (): string[] => [...catalog.pools.keys()];
export const cpuFlavors = (): CpuFlavor[] => [...catalog.cpus.values()];
export const dataCenters = (): DataCenter[] => [...catalog.dataCenters.values()];

export const gpuType = (id: string): GpuType | undefined => catalog.gpus.get(id);

/** The types of a pool in their order. A type in no pool is a pool of its own. */
export function typesOfPool(pool: string): readonly string[] | undefined {
  return catalog.pools.get(pool)?.gpus ?? (catalog.gpus.get(pool)?.pool === null ? [pool] : undefined);
}

/** The pool of a type, or undefined if there is no such type. */
export function poolOfType(type: string): string | undefined {
  const known = catalog.gpus.get(type);
  return known && (known.pool ?? type);
}

export const cpuFlavor = (id: string): CpuFlavor | undefined => catalog.cpus.get(id);

export const dataCenter = (id: string): DataCenter | undefined => catalog.dataCenters.get(id);
export const isDataCenter = (id: string): boolean => catalog.dataCenters.has(id);
/** The types of network volumes that a data center offers, the primary one first. An unknown data center offers none. */
export const volumeTypesOf = (id: string): readonly VolumeType[] => dataCenter(id)?.networkVolumeTypes ?? [];
/** The data center of an instance that may be anywhere, on a machine that counts for all of them. */
export const homeDataCenter = (): string => catalog.home;

/**
 * How many GPUs of a type a Pod may have in a cloud. The community cloud has none of a type that it does not offer. The secure cloud also
 * has the types of its machines that the catalog does not offer there, as many as exist.
 */
export function mostSold(id: string, cloud: Cloud): number {
  const known = gpuType(id);
  if (!known) return Number.POSITIVE_INFINITY;
  const { secure, community, maxCount } = known;
  if (cloud === "COMMUNITY") return community ? maxCount.community : 0;
  return secure ? maxCount.secure : Number.POSITIVE_INFINITY;
}

/** The memory of one GPU of a type. */
export const gpuMemoryGb = (type: string): number | undefined => gpuType(type)?.memory;

/** The share of its machine that goes with one GPU of a type. */
export const gpuShare = (type: string): { vcpu: number; memoryGb: number } | undefined => gpuType(type)?.share;

/** What one GPU of a type costs, in USD per hour. An unknown type costs nothing. */
export const gpuPrice = {
  pod: (type: string, cloud?: Cloud): number => gpuPriceIn(catalog, "pod", type, cloud),
  /** The price for a Pod that gives way and bids nothing. This is also the least that it may bid. */
  spot: (type: string, cloud?: Cloud): number => spotPriceIn(catalog, type, cloud),
  member: (type: string): number => gpuPriceIn(catalog, "member", type),
  worker: (type: string): number => gpuPriceIn(catalog, "worker", type),
};

/** USD per hour for each vCPU of a flavor, including its memory. */
export const cpuPrice = (flavor: string, kind?: PricedKind): number => cpuPriceIn(catalog, flavor, kind);

/** USD per GB and month of a network volume of a tier: up to a TB, and beyond. */
export const volumePrices = (tier: VolumeType): { first: number; beyond: number } => volumePricesIn(catalog, tier);

/** The catalog in force now. */
export const installedCatalog = (): Catalog => catalog;
