/** The most that a caller would pay for compute: what costs more is no choice, as if there were no room for it. */
import { cpuPrice, gpuPrice } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import type { KeptPod } from "./model.ts";

export interface Ceiling {
  /** USD per hour, for all that is asked for; absent means whatever it costs. */
  mostPerHour?: number | undefined;
}

type Priced = Pick<KeptPod, "gpu" | "cpu" | "cloud">;

/** What is left of the types and flavors that will do, in their order. */
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

/** Throws where all of these cost more. */
export function refuseDearer(choices: readonly { price: number }[], mostPerHour: number): void {
  const least = usd(Math.min(...choices.map(({ price }) => price)));
  if (least > mostPerHour)
    throw problem("no-capacity", `This costs ${least} USD per hour, and ${mostPerHour} at most is to be paid.`, {
      reason: "price-too-high",
    });
}

/** Products of prices with the digits that money has. */
export const usd = (amount: number) => Math.round(amount * 1e9) / 1e9;
