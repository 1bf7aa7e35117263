/** What a Pod needs of a machine. */
import { cpuFlavors, dataCenters, gpuShare, mostSold } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import type { Need, Terms } from "../../machines/need.ts";
import { isHostImage } from "../../ports/compute/by-image.ts";
import type { VolumePlace } from "../volumes/service.ts";
import { isEnough } from "./bids.ts";
import type { KeptPod, PodGpu } from "./model.ts";

const MB_PER_GB = 1024;
/** For a GPU type that is no longer in the catalog: the share of a small GPU machine. */
const SOME_SHARE = { vcpu: 8, memoryGb: 32 };

type Needy = Pick<KeptPod, "gpu" | "cpu" | "disk" | "image" | "dataCenterIds" | "countryCodes" | "mounts" | "last"> &
  Partial<Pick<KeptPod, "globalNetworking" | "cluster" | "withoutGpu">> &
  Pick<KeptPod, "cloud" | "interruptible" | "bidPerGpu">;

/** The GB of a machine's disk that a Pod has for itself. */
export const diskOf = ({ disk, mounts }: Pick<KeptPod, "disk" | "mounts">): number =>
  disk + (mounts.persistent?.size ?? 0);

/** A Pod does not share its disk. It stays on the machine with its storage, and as a member of a cluster on its first one. */
export function needOf(pod: Needy, volume?: VolumePlace): Need {
  const { gpu, withoutGpu, cpu = [], image, mounts, last } = pod;
  const stays = mounts.persistent !== undefined || pod.cluster !== undefined;
  const home = stays && last ? last.machine : volume?.machine;
  const terms: Terms = {
    diskGb: diskOf(pod),
    keepsDisk: true,
    runs: isHostImage(image) ? "host" : "container",
    dataCenters: volume ? [volume.dataCenter] : dataCentersFor(pod),
    ...(home !== undefined && { machine: home }),
    ...((volume || mounts.persistent) && { volumes: volume && volume.machine === undefined ? "shared" : "any" }),
    ...((pod.globalNetworking || pod.cluster) && { groups: true }),
  };
  if (gpu && withoutGpu) return { ...terms, kind: "cpu", flavors: [leastFlavor()] };
  if (gpu) return gpuNeed(terms, gpu, typesFor(pod, gpu));
  const flavors = cpu.map(({ id, vcpuCount, memory }) => ({ id, vcpu: vcpuCount, memoryMb: memory * MB_PER_GB }));
  return { ...terms, kind: "cpu", flavors };
}

/**
 * The named data centers that are in the named countries. If there are none, the result is a name that no data center has, so nothing fits.
 */
function dataCentersFor({ dataCenterIds, countryCodes }: Needy): string[] {
  if (countryCodes.length === 0) return dataCenterIds;
  const inCountries = dataCenters().filter(({ country = "" }) => countryCodes.includes(country));
  const ids = inCountries.map(({ id }) => id).filter((id) => dataCenterIds.length === 0 || dataCenterIds.includes(id));
  return ids.length > 0 ? ids : [`a data center in ${countryCodes.join(" or ")}`];
}

/** The flavor of a GPU Pod that is started without its GPUs to access its storage: the smallest and cheapest. */
function leastFlavor() {
  const [least] = cpuFlavors().sort((a, b) => a.price.securePerVcpu * a.minVcpu - b.price.securePerVcpu * b.minVcpu);
  if (!least) throw problem("no-capacity", "The catalog has no CPU flavor to start a Pod with that is to have no GPU.");
  const { id, minVcpu, ramGbPerVcpu } = least;
  return { id, vcpu: minVcpu, memoryMb: minVcpu * ramGbPerVcpu * MB_PER_GB };
}

/** The types of which the Pod may have this many for what it pays. If prices or limits have since ruled out all of them, all are tried. */
function typesFor(pod: Needy, { types, count }: PodGpu): readonly string[] {
  const sold = types.filter((type) => mostSold(type, pod.cloud) >= count && isEnough(pod, type));
  return sold.length > 0 ? sold : types;
}

function gpuNeed(terms: Terms, gpu: PodGpu, sold: readonly string[]): Need {
  const { minVcpuPerGpu: vcpu, minRamPerGpu: ramGb } = gpu;
  const isAsked = vcpu !== null || ramGb !== null;
  const least = isAsked ? { least: { vcpu: vcpu ?? 0, memoryMb: (ramGb ?? 0) * MB_PER_GB } } : {};
  const types = sold.map((type) => {
    const share = gpuShare(type) ?? SOME_SHARE;
    return { type, vcpu: share.vcpu, memoryMb: share.memoryGb * MB_PER_GB, ...least };
  });
  const cuda = { atLeast: gpu.minCudaVersion, oneOf: gpu.allowedCudaVersions };
  return { ...terms, cuda, kind: "gpu", count: gpu.count, types };
}
