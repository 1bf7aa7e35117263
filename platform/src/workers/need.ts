/** What a worker of an endpoint needs of a machine, from the endpoint's compute and the catalog. */
import { gpuShare } from "../catalog/compute.ts";
import type { Need, Terms } from "../machines/need.ts";
import { isHostImage } from "../ports/compute/by-image.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";

const MB_PER_GB = 1024;
/** For a type that the catalog gave up: what a small GPU machine has. */
const SOME_SHARE = { vcpu: 8, memoryGb: 32 };

type Needy = Pick<KeptEndpoint, "cpu" | "gpu" | "disk" | "image" | "dataCenterIds">;

/** Workers come and go, and their disks are promised more often than they are there, as seats are. */
export function needOf({ cpu = [], gpu, disk, image, dataCenterIds }: Needy): Need {
  const terms: Terms = { diskGb: disk, runs: isHostImage(image) ? "host" : "container", dataCenters: dataCenterIds };
  if (!gpu) {
    const flavors = cpu.map(({ id, vcpuCount, memory }) => ({ id, vcpu: vcpuCount, memoryMb: memory * MB_PER_GB }));
    return { ...terms, kind: "cpu", flavors };
  }
  const types = gpu.types.map((type) => {
    const { vcpu, memoryGb } = gpuShare(type) ?? SOME_SHARE;
    return { type, vcpu, memoryMb: memoryGb * MB_PER_GB };
  });
  const cuda = { atLeast: gpu.minCudaVersion, oneOf: gpu.allowedCudaVersions };
  return { ...terms, cuda, kind: "gpu", count: gpu.count, types };
}
