/** Limits the container disk of a CPU Pod to the GB per vCPU that its flavor allows. */
import { cpuFlavor } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import type { KeptPod, PodCpu } from "./model.ts";

type Size = Pick<PodCpu[number], "id" | "vcpuCount">;
type OnCpus = Pick<KeptPod, "disk"> & Partial<Pick<KeptPod, "cpu" | "last">>;

/** The limit of one size of a flavor. A flavor that the catalog does not know has no limit. */
const mostDiskGb = ({ id, vcpuCount }: Size): number =>
  vcpuCount * (cpuFlavor(id)?.diskGbPerVcpu ?? Number.POSITIVE_INFINITY);

/** A default disk is no larger than what every one of the flavors allows. */
export const defaultDiskGb = (disk: number, sizes: readonly Size[]): number => Math.min(disk, ...sizes.map(mostDiskGb));

/** Matches disk and flavors: keeps the flavors that allow a requested disk, or reduces a default disk to what all of them allow. */
export function diskOnCpus({ disk, cpu, last }: OnCpus, isAsked: boolean): Pick<KeptPod, "disk"> & { cpu?: PodCpu } {
  if (!cpu) return { disk };
  if (!isAsked) return { disk: defaultDiskGb(disk, cpu), cpu };
  const allowing = cpu.filter((size) => disk <= mostDiskGb(size));
  // A Pod that was placed before keeps its flavor.
  const meant = cpu.filter(({ id }) => id === last?.flavor);
  const needed = meant.length > 0 ? meant : cpu;
  if (!needed.some((size) => allowing.includes(size))) throw tooLarge(disk, needed);
  return { disk, cpu: allowing };
}

function tooLarge(disk: number, sizes: readonly Size[]) {
  const largest = sizes.reduce((best, next) => (mostDiskGb(next) > mostDiskGb(best) ? next : best));
  const { id, vcpuCount } = largest;
  return problem(
    "rule-broken",
    `'disk' is ${disk} GB, and a Pod with ${vcpuCount} vCPUs of '${id}' has ${mostDiskGb(largest)} GB at most.`,
  );
}
