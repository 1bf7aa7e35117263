/** What instances hold at once, for those who count it against a limit of their account. */
import { type InstanceItem, isUnheard, placeOf } from "./instances.ts";

export interface Held {
  gpus: number;
  vcpu: number;
}

/**
 * Those that stand still hold nothing that is counted: they give way to others. Nor do those that are to end and cannot be told so, since
 * their machine is not heard of: it may never return.
 */
export function heldBy(instances: readonly InstanceItem[]): Held {
  const isCounted = ({ doc }: InstanceItem) => doc.state !== "FROZEN" && !(doc.state === "ENDING" && isUnheard(doc));
  const places = instances.filter(isCounted).flatMap(placeOf);
  return { gpus: sum(places.map(({ gpuCount }) => gpuCount)), vcpu: sum(places.map(({ vcpu }) => vcpu)) };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
