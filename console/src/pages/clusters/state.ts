/** What the pages of clusters say about one, worked out from its record. */
import type { Cluster } from "@millrace/platform/resources/clusters/model.ts";
import type { PodStatus } from "@millrace/platform/resources/pods/lifecycle.ts";

/** The worst first: one member that failed matters more than many that run. */
const WORST_FIRST: readonly PodStatus[] = ["ERROR", "EXITED", "PROVISIONING", "STARTING", "RUNNING"];

/** The status of a cluster as a whole is that of its worst member. */
export function wholeStatus({ pods }: Pick<Cluster, "pods">): PodStatus | "EMPTY" {
  return WORST_FIRST.find((status) => (pods.byStatus[status] ?? 0) > 0) ?? "EMPTY";
}

/** `4 running` or `3 of 4 running, 1 error`. */
export function membersText({ pods: { total, byStatus } }: Pick<Cluster, "pods">): string {
  const running = byStatus.RUNNING ?? 0;
  if (running === total) return `${total} running`;
  const others = WORST_FIRST.filter((status) => status !== "RUNNING" && byStatus[status]).map(
    (status) => `${byStatus[status]} ${status.toLowerCase()}`,
  );
  return [`${running} of ${total} running`, ...others].join(", ");
}

/** `4 x 8 RTX 4090` in words that people read. */
export function clusterText({ compute: { gpuTypeId, gpuCountPerPod, podCount } }: Pick<Cluster, "compute">): string {
  const type = gpuTypeId.replace(/^(NVIDIA|AMD) (GeForce )?/, "");
  return `${podCount} members with ${gpuCountPerPod > 1 ? `${gpuCountPerPod} x ` : ""}${type}`;
}

interface Wish {
  gpuTypeId?: string;
  gpuCountPerPod?: number;
  podCount?: number;
}

/** USD an hour of all members; undefined until a GPU type is chosen. */
export function clusterPrice(
  { gpuTypeId, gpuCountPerPod = 1, podCount = 2 }: Wish,
  gpus: readonly { id: string; price: { secure: number } }[],
): number | undefined {
  const type = gpus.find(({ id }) => id === gpuTypeId);
  return type && type.price.secure * gpuCountPerPod * podCount;
}
