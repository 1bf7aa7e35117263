/** What an instance costs: from the catalog's prices to whole numbers of 1e-9 USD, so that sums are exact. */

import { cpuPrice, gpuPrice, storagePrice } from "../catalog/compute.ts";
import type { InstanceKind } from "../ports/compute/compute.ts";
import type { Having, Price } from "./span.ts";

const NANO = 1_000_000_000;
/** As the catalog counts a month. */
const HOURS_PER_MONTH = 30 * 24;

/** With a GPU its share of CPU and memory comes along; the disk is paid for by those who keep it. */
export function priceOf(
  kind: InstanceKind,
  has: Pick<Having, "gpuType" | "gpuCount" | "flavor" | "vcpu" | "diskGb">,
): Price {
  const { gpuType, gpuCount, flavor, vcpu, diskGb } = has;
  return {
    gpu: gpuType === null ? 0 : nano(gpuPrice[kind](gpuType) * gpuCount),
    cpu: gpuType !== null || flavor === null ? 0 : nano(cpuPrice(flavor, kind) * vcpu),
    disk: nano((storagePrice().containerDiskPerGbMonth * diskGb) / HOURS_PER_MONTH),
  };
}

const nano = (usd: number) => Math.round(usd * NANO);
