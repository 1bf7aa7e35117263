/** What the catalog of this installation says, for everything that asks it: types, flavors, data centers and what they cost. */
import { type Catalog, type CpuFlavor, type DataCenter, type GpuType, standardCatalog } from "./catalog.ts";
import { cpuPriceIn, gpuPriceIn, type PricedKind, spotPriceIn } from "./prices.ts";
import type { Cloud, VolumeType } from "./words.ts";

export type { CpuFlavor, DataCenter, GpuType } from "./catalog.ts";

/** That of the files. */
let base: Catalog = standardCatalog();
/** The same, with prices that were changed since; what everybody reads. */
let catalog: Catalog = base;

/** From now on everybody reads this one; what was read before comes back when it is disposed. Once at start, before anything reads. */
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

/** As the files say it, whichever prices are in force. */
export const baseCatalog = (): Catalog => base;

/** From now on everybody reads prices as they are here; those of the files again when it is disposed. */
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

/** The types of a pool in their order. A type that stands in no pool is a pool of its own. */
export function typesOfPool(pool: string): readonly string[] | undefined {
  return catalog.pools.get(pool)?.gpus ?? (catalog.gpus.get(pool)?.pool === null ? [pool] : undefined);
}

/** The pool that a type stands in; undefined when there is no such type. */
export function poolOfType(type: string): string | undefined {
  const known = catalog.gpus.get(type);
  return known && (known.pool ?? type);
}

export const cpuFlavor = (id: string): CpuFlavor | undefined => catalog.cpus.get(id);

export const dataCenter = (id: string): DataCenter | undefined => catalog.dataCenters.get(id);
export const isDataCenter = (id: string): boolean => catalog.dataCenters.has(id);
/** The types of network volumes that a data center offers, the primary one first; none where there is no such data center. */
export const volumeTypesOf = (id: string): readonly VolumeType[] => dataCenter(id)?.networkVolumeTypes ?? [];
/** Where an instance is that may be anywhere, on a machine that stands everywhere. */
export const homeDataCenter = (): string => catalog.home;

/**
 * How many GPUs of a type a Pod may have in a cloud: none where the community cloud does not offer it. A secure cloud has its machines' own
 * types too, whatever the catalog offers there, as many as there are.
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

/** The part of its machine that goes with one GPU of a type. */
export const gpuShare = (type: string): { vcpu: number; memoryGb: number } | undefined => gpuType(type)?.share;

/** What one GPU of a type costs, in USD per hour; nothing for a type that the catalog does not know. */
export const gpuPrice = {
  pod: (type: string, cloud?: Cloud): number => gpuPriceIn(catalog, "pod", type, cloud),
  /** Of a Pod that gives way, where it bids nothing; the least that it may bid. */
  spot: (type: string, cloud?: Cloud): number => spotPriceIn(catalog, type, cloud),
  member: (type: string): number => gpuPriceIn(catalog, "member", type),
  worker: (type: string): number => gpuPriceIn(catalog, "worker", type),
};

/** USD per hour for each vCPU of a flavor, its memory included. */
export const cpuPrice = (flavor: string, kind?: PricedKind): number => cpuPriceIn(catalog, flavor, kind);

/** What is in force now. */
export const installedCatalog = (): Catalog => catalog;
