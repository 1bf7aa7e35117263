/** Chooses the cloud of a Pod if the caller leaves that open. */
import { gpuPrice, mostSold } from "../../catalog/compute.ts";
import type { Cloud } from "../../catalog/words.ts";
import { type Ceiling, usd } from "./ceiling.ts";

interface Paying extends Ceiling {
  types: readonly string[];
  count: number;
  bidPerGpu?: number | undefined;
}

/**
 * Undefined stands for the secure cloud. The community cloud is chosen only if what the caller would pay is enough there but not in the
 * secure one.
 */
export function anyCloud({ types, count, bidPerGpu, mostPerHour }: Paying): Cloud | undefined {
  const isPaid = (cloud: Cloud) =>
    types.some((type) => {
      const isWithin = mostPerHour === undefined || usd(gpuPrice.pod(type, cloud) * count) <= mostPerHour;
      const isEnough = bidPerGpu === undefined || bidPerGpu >= gpuPrice.spot(type, cloud);
      return isWithin && isEnough && mostSold(type, cloud) >= count;
    });
  return !isPaid("SECURE") && isPaid("COMMUNITY") ? "COMMUNITY" : undefined;
}
