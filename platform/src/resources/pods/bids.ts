/** What interruptible Pods bid for each GPU. A bid must not be below the spot price. */
import { gpuPrice } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import type { KeptPod } from "./model.ts";

type Bidding = Pick<KeptPod, "cloud" | "interruptible" | "bidPerGpu"> & Partial<Pick<KeptPod, "gpu">>;

/** Throws if the bid is too low for all of the Pod's GPU types. */
export function refuseLowBid(pod: Bidding): void {
  const { gpu, cloud, bidPerGpu } = pod;
  if (!gpu || bidPerGpu === null || gpu.types.some((type) => isEnough(pod, type))) return;
  const [cheapest = ""] = gpu.types.toSorted((a, b) => gpuPrice.spot(a, cloud) - gpuPrice.spot(b, cloud));
  throw problem(
    "rule-broken",
    `'bidPerGpu' is ${bidPerGpu} USD per hour, and the least bid for '${cheapest}' in the ${cloud} cloud is ${gpuPrice.spot(cheapest, cloud)}.`,
  );
}

/** Whether the Pod pays enough to get this type. */
export const isEnough = ({ cloud, interruptible, bidPerGpu }: Omit<Bidding, "gpu">, type: string): boolean =>
  !interruptible || bidPerGpu === null || bidPerGpu >= gpuPrice.spot(type, cloud);
