/** What a worker of an endpoint needs of a machine, from the endpoint's compute and the catalog. */
import { gpuShare } from "../resources/catalog/compute.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import type { Need } from "./placer.ts";

const MB_PER_GB = 1024;
/** For a type that the catalog gave up: what a small GPU machine has. */
const SOME_SHARE = { vcpu: 8, memoryGb: 32 };

export function needOf({ cpu = [], gpu }: Pick<KeptEndpoint, "cpu" | "gpu">): Need {
  if (!gpu) {
    const flavors = cpu.map(({ vcpuCount, memory }) => ({ vcpu: vcpuCount, memoryMb: memory * MB_PER_GB }));
    return { kind: "cpu", flavors };
  }
  const types = gpu.types.map((type) => {
    const { vcpu, memoryGb } = gpuShare(type) ?? SOME_SHARE;
    return { type, vcpu, memoryMb: memoryGb * MB_PER_GB };
  });
  return { kind: "gpu", count: gpu.count, types };
}
