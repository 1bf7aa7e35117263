/** The prices of a catalog in USD: per hour for what runs, per GB and month for what is stored. */
import type { Catalog } from "./catalog.ts";
import type { Cloud, VolumeType } from "./words.ts";

export type PricedKind = "pod" | "member" | "worker";

/** Price of one GPU per hour. An unknown type costs nothing. */
export function gpuPriceIn(catalog: Catalog, kind: PricedKind, type: string, cloud: Cloud = "SECURE"): number {
  const { secure = 0, community = 0, cluster = 0 } = catalog.gpus.get(type)?.price ?? {};
  // If a cloud does not offer the type, the price of the other cloud applies.
  const pod = cloud === "SECURE" ? secure || community : community || secure;
  if (kind === "pod") return pod;
  if (kind === "member") return cluster || secure || community;
  // Workers are priced by pool, whichever of its types they get.
  return catalog.pools.get(catalog.gpus.get(type)?.pool ?? type)?.price ?? (secure || community);
}

/**
 * Price per hour of one GPU of a Pod that gives way, which is also the least that it may bid. It is the usual price if the catalog has no
 * spot price, and never higher than that.
 */
export function spotPriceIn(catalog: Catalog, type: string, cloud: Cloud = "SECURE"): number {
  const { secureSpot, communitySpot } = catalog.gpus.get(type)?.price ?? {};
  const standard = gpuPriceIn(catalog, "pod", type, cloud);
  return Math.min(standard, (cloud === "SECURE" ? secureSpot : communitySpot) ?? standard);
}

/** Price of one vCPU per hour, including its memory. */
export function cpuPriceIn(catalog: Catalog, flavor: string, kind: PricedKind = "pod"): number {
  const { securePerVcpu = 0, serverlessPerVcpu = 0 } = catalog.cpus.get(flavor)?.price ?? {};
  return kind === "worker" ? serverlessPerVcpu : securePerVcpu;
}

/** Price of a Pod's storage per GB and month. */
export function podStoragePricesIn({ storage }: Catalog, isUsed: boolean): { container: number; persistent: number } {
  return isUsed
    ? { container: storage.containerDiskPerGbMonth, persistent: storage.persistentRunningPerGbMonth }
    : { container: storage.containerDiskStoppedPerGbMonth ?? 0, persistent: storage.persistentStoppedPerGbMonth };
}

/** A network volume is cheaper beyond this size. */
export const FIRST_TB_GB = 1000;

/** Price of a network volume per GB and month: up to a TB, and beyond. */
export function volumePricesIn({ storage }: Catalog, tier: VolumeType): { first: number; beyond: number } {
  const standard = { first: storage.networkVolumePerGbMonth, beyond: storage.networkVolumeBeyondTbPerGbMonth };
  const high = tier === "HIGH_PERFORMANCE" ? storage.highPerformanceVolumePerGbMonth : undefined;
  return high === undefined ? standard : { first: high, beyond: high };
}
