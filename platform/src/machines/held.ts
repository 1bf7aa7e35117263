/** Counts the GPUs and vCPUs that instances hold, to compare them with a limit of their account. */
import { type InstanceItem, isUnheard, placeOf } from "./instances.ts";
import type { Place } from "./place.ts";

export interface Held {
  gpus: number;
  vcpu: number;
}

/**
 * Frozen instances are not counted, because they give way to others. Instances that are to end on a silent machine are not counted either,
 * because the machine may never return.
 */
export function heldBy(instances: readonly InstanceItem[]): Held {
  const isCounted = ({ doc }: InstanceItem) => doc.state !== "FROZEN" && !(doc.state === "ENDING" && isUnheard(doc));
  return heldIn(instances.filter(isCounted).flatMap(placeOf));
}

export const heldIn = (places: readonly Pick<Place, "gpuCount" | "vcpu">[]): Held => ({
  gpus: sum(places.map(({ gpuCount }) => gpuCount)),
  vcpu: sum(places.map(({ vcpu }) => vcpu)),
});

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
