/** Chooses the GPU types to try for a Pod whose caller names none: the cheapest that fits. */
import { type GpuType, gpuPrice, gpuTypes } from "../../catalog/compute.ts";
import type { Cloud } from "../../catalog/words.ts";
import { MOST_ITEMS } from "../endpoints/model.ts";

/** Sorted with the cheapest first. Types that the secure cloud does not offer come last, since a private machine may have nothing else. */
export function anyGpuType(cloud: Cloud = "SECURE", givesWay = false): string[] {
  const price = ({ id }: GpuType) => gpuPrice[givesWay ? "spot" : "pod"](id, cloud);
  const cheapest = gpuTypes().toSorted((a, b) => price(a) - price(b));
  const offered = cheapest.filter((type) => isOffered(type, cloud));
  const others = cloud === "SECURE" ? cheapest.filter((type) => !isOffered(type, cloud)) : [];
  return [...offered, ...others].slice(0, MOST_ITEMS).map(({ id }) => id);
}

const isOffered = ({ secure, community }: GpuType, cloud: Cloud) => (cloud === "SECURE" ? secure : community);
