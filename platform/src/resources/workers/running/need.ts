/** What a worker of an endpoint needs of a machine, from the endpoint's compute and the catalog. */
import { gpuShare } from "../../../catalog/compute.ts";
import type { Among, Need, Terms } from "../../../machines/need.ts";
import type { Machine } from "../../../machines/place.ts";
import { Room } from "../../../machines/room.ts";
import { isHostImage } from "../../../ports/compute/by-image.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";

const MB_PER_GB = 1024;
/** For a GPU type that is no longer in the catalog: the share of a small GPU machine. */
const SOME_SHARE = { vcpu: 8, memoryGb: 32 };

type Needy = Pick<KeptEndpoint, "cpu" | "gpu" | "disk" | "image" | "dataCenterIds">;

/** For an endpoint with volumes, one need for each volume's data center, in order of preference. Otherwise there is just one need. */
export function needsOf(
  endpoint: Needy & Pick<KeptEndpoint, "volumePlaces">,
  among?: Among | undefined,
): [Need, ...Need[]] {
  const need = { ...needOf(endpoint), ...(among && { among, volumes: "any" as const }) };
  const [first, ...more] = (endpoint.volumePlaces ?? []).map(({ dataCenter, machine }) => ({
    ...need,
    dataCenters: [dataCenter],
    ...(machine === null ? { volumes: "shared" as const } : { volumes: "any" as const, machine }),
  }));
  return first ? [first, ...more] : [need];
}

/** Whether workers of an endpoint are placed on other machines than this one, such as one whose container engine is known to be away. */
export function runsElsewhere(
  endpoint: Needy & Pick<KeptEndpoint, "volumePlaces">,
  machine: string,
  machines: readonly Machine[],
): boolean {
  const room = new Room(machines);
  return needsOf(endpoint).some((need) => {
    const suiting = room.suiting(need);
    return suiting.length > 0 && suiting.every((free) => free.machine.id !== machine);
  });
}

/** The disks of workers are overcommitted on purpose, because workers come and go. */
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
