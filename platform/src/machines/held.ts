/** What instances hold at once, for those who count it against a limit of their account. */
import { type InstanceItem, placeOf } from "./instances.ts";

export interface Held {
  gpus: number;
  vcpu: number;
}

/** Those that stand still hold nothing that is counted: they give way to others. */
export function heldBy(instances: readonly InstanceItem[]): Held {
  const places = instances.filter(({ doc }) => doc.state !== "FROZEN").flatMap(placeOf);
  return { gpus: sum(places.map(({ gpuCount }) => gpuCount)), vcpu: sum(places.map(({ vcpu }) => vcpu)) };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
