/** The most that a caller would pay for compute. Choices that cost more are treated as if there were no room for them. */
import { cpuPrice, gpuPrice } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import type { KeptPod } from "./model.ts";

export interface Ceiling {
  /** USD per hour for everything that is asked for. Without it, any price is accepted. */
  mostPerHour?: number | undefined;
}

type Priced = Pick<KeptPod, "gpu" | "cpu" | "cloud">;

/** Keeps only the types and flavors within the price, in their order. */
export function affordable<T extends Priced>(config: T, { mostPerHour }: Ceiling): T {
  if (mostPerHour === undefined) return config;
  const { gpu, cpu, cloud } = config;
  const types = (gpu?.types ?? []).map((type) => ({ type, price: gpuPrice.pod(type, cloud) * gpu!.count }));
  const flavors = (cpu ?? []).map((flavor) => ({ flavor, price: cpuPrice(flavor.id, "pod") * flavor.vcpuCount }));
  refuseDearer([...types, ...flavors], mostPerHour);
  const isWithin = ({ price }: { price: number }) => usd(price) <= mostPerHour;
  return {
    ...config,
    ...(gpu && { gpu: { ...gpu, types: types.filter(isWithin).map(({ type }) => type) } }),
    ...(cpu && { cpu: flavors.filter(isWithin).map(({ flavor }) => flavor) }),
  };
}

/** Throws if all of these cost more. */
export function refuseDearer(choices: readonly { price: number }[], mostPerHour: number): void {
  const least = usd(Math.min(...choices.map(({ price }) => price)));
  if (least > mostPerHour)
    throw problem("no-capacity", `This costs ${least} USD per hour, and ${mostPerHour} at most is to be paid.`, {
      reason: "price-too-high",
    });
}

/** Rounds a product of prices to nine digits. */
export const usd = (amount: number) => Math.round(amount * 1e9) / 1e9;
