/** What the catalog says of compute: GPU types and the pools they stand in, CPU flavors, data centers. */
import catalog from "./catalog.json" with { type: "json" };

export interface CpuFlavor {
  id: string;
  minVcpu: number;
  maxVcpu: number;
  ramGbPerVcpu: number;
}

const gpus = new Map(catalog.gpus.map(({ id, pool }) => [id, pool]));
const gpuMemories = new Map(catalog.gpus.map(({ id, vramGb }) => [id, vramGb]));
const gpuShares = new Map(catalog.gpus.map(({ id, vcpu, memoryGb }) => [id, { vcpu, memoryGb }]));
const pools = new Map(catalog.pools.map(({ id, gpuTypeIds }) => [id, gpuTypeIds]));
const cpus = new Map<string, CpuFlavor>(catalog.cpus.map((cpu) => [cpu.id, cpu]));
const dataCenters = new Set(catalog.dataCenters);

export const gpuTypeIds: readonly string[] = [...gpus.keys()];
export const poolIds: readonly string[] = [...pools.keys()];

/** The types of a pool in their order. A type that stands in no pool is a pool of its own. */
export function typesOfPool(pool: string): readonly string[] | undefined {
  return pools.get(pool) ?? (gpus.get(pool) === null ? [pool] : undefined);
}

/** The pool that a type stands in; undefined when there is no such type. */
export function poolOfType(type: string): string | undefined {
  const pool = gpus.get(type);
  return pool === null ? type : pool;
}

export const cpuFlavor = (id: string): CpuFlavor | undefined => cpus.get(id);
export const isDataCenter = (id: string): boolean => dataCenters.has(id);

/** The memory of one GPU of a type. */
export const gpuMemoryGb = (type: string): number | undefined => gpuMemories.get(type);

/** The part of its machine that goes with one GPU of a type. */
export const gpuShare = (type: string): { vcpu: number; memoryGb: number } | undefined => gpuShares.get(type);

const podPrices = new Map(catalog.gpus.map(({ id, podPrice }) => [id, podPrice]));
const clusterPrices = new Map(catalog.gpus.map(({ id, clusterPrice }) => [id, clusterPrice]));
const poolPrices = new Map(catalog.pools.map(({ id, pricePerSecond }) => [id, pricePerSecond]));
const cpuPrices = new Map(catalog.cpus.map(({ id, pricePerVcpu }) => [id, pricePerVcpu]));

const SECONDS_PER_HOUR = 3600;

/** What one GPU of a type costs, in USD per hour; nothing for a type that the catalog does not know. */
export const gpuPrice = {
  pod: (type: string): number => podPrices.get(type) ?? 0,
  member: (type: string): number => clusterPrices.get(type) || gpuPrice.pod(type),
  /** Workers are priced by pool, whichever of its types they get. */
  worker: (type: string): number => {
    const price = poolPrices.get(poolOfType(type) ?? "");
    return price === undefined || price === null ? gpuPrice.pod(type) : price * SECONDS_PER_HOUR;
  },
};

/** USD per hour for each vCPU of a flavor, its memory included. */
export const cpuPrice = (flavor: string): number => cpuPrices.get(flavor) ?? 0;

/** USD per GB and month. */
export const { containerDiskPerGbMonth: diskPrice } = catalog.storage;
