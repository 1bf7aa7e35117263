/** What an instance or storage costs: from the catalog's prices to whole numbers of 1e-9 USD, so that sums are exact. */
import type { Catalog } from "../catalog/catalog.ts";
import { installedCatalog } from "../catalog/compute.ts";
import {
  cpuPriceIn,
  FIRST_TB_GB,
  gpuPriceIn,
  type PricedKind,
  podStoragePricesIn,
  spotPriceIn,
  volumePricesIn,
} from "../catalog/prices.ts";
import type { Having, Payable, Price } from "./span.ts";

/** The prices in force at each moment. */
export interface PricesInTime {
  at(moment: number): Catalog;
  /** Moments after the first and not after the last at which prices changed, in their order. */
  changes(after: number, until: number): readonly number[];
}

/** Those that are installed, as if they had never been others. */
export const standingPrices: PricesInTime = { at: installedCatalog, changes: () => [] };

const NANO = 1_000_000_000;

export function priceOf(what: Payable, catalog: Catalog): Price {
  const { kind, phase } = what;
  if (kind === "volume") return { ...NOTHING, storage: volumeStorage(what, catalog) };
  if (phase === "used" || phase === "kept") return { ...NOTHING, storage: podStorage(what, catalog) };
  // With a GPU its share of CPU and memory comes along.
  const { gpuType, gpuCount, flavor, vcpu, diskGb } = what;
  return {
    gpu: gpuType === null ? 0 : nano(eachGpu(catalog, kind, gpuType, what) * gpuCount),
    cpu: gpuType !== null || flavor === null ? 0 : nano(cpuPriceIn(catalog, flavor, kind) * vcpu),
    disk: 0,
    // The disk of a Pod outlives its instances, and has spans of its own.
    storage: kind === "worker" ? nano(catalog.storage.containerDiskPerGbMonth * diskGb) : 0,
  };
}

/** One that gives way pays what it bids, or the price of those that do. */
function eachGpu(catalog: Catalog, kind: PricedKind, type: string, { cloud, yields }: Having): number {
  return yields ? yields.bid || spotPriceIn(catalog, type, cloud) : gpuPriceIn(catalog, kind, type, cloud);
}

const NOTHING: Price = { gpu: 0, cpu: 0, disk: 0, storage: 0 };

function podStorage({ phase, diskGb, persistentGb = 0 }: Payable, catalog: Catalog): number {
  const { container, persistent } = podStoragePricesIn(catalog, phase === "used");
  return nano(container * diskGb) + nano(persistent * persistentGb);
}

function volumeStorage({ diskGb, tier = "STANDARD" }: Payable, catalog: Catalog): number {
  const { first, beyond } = volumePricesIn(catalog, tier);
  return nano(first * Math.min(diskGb, FIRST_TB_GB)) + nano(beyond * Math.max(0, diskGb - FIRST_TB_GB));
}

export const samePrice = (a: Price, b: Price): boolean =>
  a.gpu === b.gpu && a.cpu === b.cpu && a.disk === b.disk && a.storage === b.storage;

const nano = (usd: number) => Math.round(usd * NANO);
