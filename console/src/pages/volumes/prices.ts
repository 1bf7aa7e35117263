/** What a network volume costs, from the prices of its data center. */
import type { DataCenter } from "@millrace/platform/resources/catalog/model.ts";

export type VolumePrice = NonNullable<DataCenter["networkVolumePrices"]>[number];

/** Beyond this size each GB has another price. */
const FIRST_TB_GB = 1000;
/** A month has so many hours in bills, whichever it is. */
export const HOURS_IN_MONTH = 730;

/** USD in a month. */
export function monthlyPrice(sizeGb: number, { perGbMonth, beyondTbPerGbMonth }: VolumePrice): number {
  const nano = (usd: number) => Math.round(usd * 1e9);
  const first = Math.min(sizeGb, FIRST_TB_GB) * nano(perGbMonth);
  return (first + Math.max(0, sizeGb - FIRST_TB_GB) * nano(beyondTbPerGbMonth)) / 1e9;
}

/** The price of a tier; of the one that the data center offers first where none is chosen. */
export function priceOf(center: DataCenter | undefined, type: unknown): VolumePrice | undefined {
  const prices = center?.networkVolumePrices;
  return type ? prices?.find((price) => price.type === type) : prices?.[0];
}

/** Where volumes can be: the data center offers them, and this installation has machines there. */
export const canHold = ({ networkVolumeTypes, gpuAvailability, cpuAvailability }: DataCenter): boolean =>
  networkVolumeTypes.length > 0 && Boolean(gpuAvailability?.length || cpuAvailability?.length);
