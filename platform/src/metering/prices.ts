/** What an instance or storage costs, converted from the catalog to whole numbers of 1e-9 USD, so that sums are exact. */
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
  /** The moments at which prices changed, after the first moment and up to the last, in order. */
  changes(after: number, until: number): readonly number[];
}

/** The installed prices, as if they had never changed. */
export const standingPrices: PricesInTime = { at: installedCatalog, changes: () => [] };

const NANO = 1_000_000_000;

export function priceOf(what: Payable, catalog: Catalog): Price {
  const { kind, phase } = what;
  if (kind === "volume") return { ...NOTHING, storage: volumeStorage(what, catalog) };
  if (phase === "used" || phase === "kept") return { ...NOTHING, storage: podStorage(what, catalog) };
  // The price of a GPU includes its share of CPU and memory.
  const { gpuType, gpuCount, flavor, vcpu, diskGb } = what;
  return {
    gpu: gpuType === null ? 0 : nano(eachGpu(catalog, kind, gpuType, what) * gpuCount),
    cpu: gpuType !== null || flavor === null ? 0 : nano(cpuPriceIn(catalog, flavor, kind) * vcpu),
    disk: 0,
    // A Pod's disk outlives its instances and has its own spans.
    storage: kind === "worker" ? nano(catalog.storage.containerDiskPerGbMonth * diskGb) : 0,
  };
}

/** A Pod that gives way pays its bid, or the spot price if it bids nothing. */
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
