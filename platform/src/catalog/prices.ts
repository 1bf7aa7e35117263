/** What a catalog asks for things, in USD: per hour for what runs, per GB and month for what is stored. */
import type { Catalog } from "./catalog.ts";
import type { Cloud, VolumeType } from "./words.ts";

export type PricedKind = "pod" | "member" | "worker";

/** Of one GPU by the hour; nothing for a type that the catalog does not know. */
export function gpuPriceIn(catalog: Catalog, kind: PricedKind, type: string, cloud: Cloud = "SECURE"): number {
  const { secure = 0, community = 0, cluster = 0 } = catalog.gpus.get(type)?.price ?? {};
  // Of a cloud that does not offer the type, that of the other.
  const pod = cloud === "SECURE" ? secure || community : community || secure;
  if (kind === "pod") return pod;
  if (kind === "member") return cluster || secure || community;
  // Workers are priced by pool, whichever of its types they get.
  return catalog.pools.get(catalog.gpus.get(type)?.pool ?? type)?.price ?? (secure || community);
}

/** Of one GPU of a Pod that gives way, by the hour: the least that is bid for it. Where there is no such price, and never above it, that of others. */
export function spotPriceIn(catalog: Catalog, type: string, cloud: Cloud = "SECURE"): number {
  const { secureSpot, communitySpot } = catalog.gpus.get(type)?.price ?? {};
  const standard = gpuPriceIn(catalog, "pod", type, cloud);
  return Math.min(standard, (cloud === "SECURE" ? secureSpot : communitySpot) ?? standard);
}

/** Of one vCPU by the hour, its memory included. */
export function cpuPriceIn(catalog: Catalog, flavor: string, kind: PricedKind = "pod"): number {
  const { securePerVcpu = 0, serverlessPerVcpu = 0 } = catalog.cpus.get(flavor)?.price ?? {};
  return kind === "worker" ? serverlessPerVcpu : securePerVcpu;
}

/** Storage of a Pod, by the GB and month. */
export function podStoragePricesIn({ storage }: Catalog, isUsed: boolean): { container: number; persistent: number } {
  return isUsed
    ? { container: storage.containerDiskPerGbMonth, persistent: storage.persistentRunningPerGbMonth }
    : { container: storage.containerDiskStoppedPerGbMonth ?? 0, persistent: storage.persistentStoppedPerGbMonth };
}

/** Network volumes are cheaper for what they have beyond this. */
export const FIRST_TB_GB = 1000;

/** Of one GB and month of a network volume: up to a TB, and beyond. */
export function volumePricesIn({ storage }: Catalog, tier: VolumeType): { first: number; beyond: number } {
  const standard = { first: storage.networkVolumePerGbMonth, beyond: storage.networkVolumeBeyondTbPerGbMonth };
  const high = tier === "HIGH_PERFORMANCE" ? storage.highPerformanceVolumePerGbMonth : undefined;
  return high === undefined ? standard : { first: high, beyond: high };
}
