/** Which cloud a Pod is made in whose caller leaves that to us. */
import { gpuPrice, mostSold } from "../../catalog/compute.ts";
import type { Cloud } from "../../catalog/words.ts";
import { type Ceiling, usd } from "./ceiling.ts";

interface Paying extends Ceiling {
  types: readonly string[];
  count: number;
  bidPerGpu?: number | undefined;
}

/** The secure one, which is meant by undefined, unless what the caller would pay is enough in the other alone. */
export function anyCloud({ types, count, bidPerGpu, mostPerHour }: Paying): Cloud | undefined {
  const isPaid = (cloud: Cloud) =>
    types.some((type) => {
      const isWithin = mostPerHour === undefined || usd(gpuPrice.pod(type, cloud) * count) <= mostPerHour;
      const isEnough = bidPerGpu === undefined || bidPerGpu >= gpuPrice.spot(type, cloud);
      return isWithin && isEnough && mostSold(type, cloud) >= count;
    });
  return !isPaid("SECURE") && isPaid("COMMUNITY") ? "COMMUNITY" : undefined;
}
