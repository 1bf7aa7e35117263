/** What Pods that give way bid for each GPU: no less than such a Pod costs where nothing is bid. */
import { gpuPrice } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import type { KeptPod } from "./model.ts";

type Bidding = Pick<KeptPod, "cloud" | "interruptible" | "bidPerGpu"> & Partial<Pick<KeptPod, "gpu">>;

/** Throws where a bid is too low for all types that will do. */
export function refuseLowBid(pod: Bidding): void {
  const { gpu, cloud, bidPerGpu } = pod;
  if (!gpu || bidPerGpu === null || gpu.types.some((type) => isEnough(pod, type))) return;
  const [cheapest = ""] = gpu.types.toSorted((a, b) => gpuPrice.spot(a, cloud) - gpuPrice.spot(b, cloud));
  throw problem(
    "rule-broken",
    `'bidPerGpu' is ${bidPerGpu} USD per hour, and the least bid for '${cheapest}' in the ${cloud} cloud is ${gpuPrice.spot(cheapest, cloud)}.`,
  );
}

/** Whether a Pod pays enough to be given this type. */
export const isEnough = ({ cloud, interruptible, bidPerGpu }: Omit<Bidding, "gpu">, type: string): boolean =>
  !interruptible || bidPerGpu === null || bidPerGpu >= gpuPrice.spot(type, cloud);
