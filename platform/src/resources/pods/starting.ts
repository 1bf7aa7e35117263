/** The ways to start or stop a Pod: with or without waiting for room, with other GPUs, reset, or as an older surface asks. */
import { problem } from "../../kernel/problem.ts";
import type { Reason } from "../../kernel/reason.ts";
import { refuseLowBid } from "./bids.ts";
import { soldIn } from "./fields.ts";
import type { KeptPod } from "./model.ts";
import type { PodItem } from "./records.ts";

export interface Starting {
  /** Whether the Pod waits if there is no room now. Otherwise the start is refused and the Pod stays stopped. */
  waits?: boolean;
  /** The number of GPUs from now on. With 0 the Pod runs without them until its next start. */
  gpuCount?: number | undefined;
  /** The bid per GPU from now on, for interruptible Pods only. */
  bidPerGpu?: number | undefined;
  /** Asks for a new container. A locked Pod refuses that. */
  isReset?: boolean;
  /** The caller's surface has no ERROR status, so it may stop a Pod that cannot run. */
  knowsNoError?: boolean;
}

/** How the start changes the Pod's GPUs and what it pays for them. */
export function gpusFor(pod: KeptPod, { gpuCount, bidPerGpu }: Starting): Partial<KeptPod> {
  const { gpu, cloud } = pod;
  const bid = bidPerGpu === undefined ? {} : bidFor(pod, bidPerGpu);
  if (!gpu) return bid;
  if (gpuCount && gpuCount !== gpu.count) soldIn(cloud, gpu.types, gpuCount);
  return { withoutGpu: gpuCount === 0, ...(gpuCount && { gpu: { ...gpu, count: gpuCount } }), ...bid };
}

function bidFor(pod: KeptPod, bidPerGpu: number): Partial<KeptPod> {
  if (!pod.interruptible)
    throw problem("rule-broken", "This Pod is not interruptible, so it has no bid: start it without 'bidPerGpu'.");
  refuseLowBid({ ...pod, bidPerGpu });
  return { bidPerGpu };
}

export function refuseLocked({ locked }: KeptPod, deed: string): void {
  if (locked)
    throw problem("wrong-state", `This Pod is locked: unlock it before you ${deed} it.`, { reason: "pod-locked" });
}

/** Members of a cluster cannot be changed alone. */
export function refuseMember({ doc: { cluster } }: PodItem): void {
  if (cluster)
    throw problem(
      "wrong-state",
      `This Pod is rank ${cluster.rank} of cluster ${cluster.id}: it cannot be changed, stopped or deleted by itself. Delete the cluster to end all of it.`,
      { reason: "cluster-member" },
    );
}

export const noRoom = ({ text, code }: Reason) =>
  problem("no-capacity", `${text.charAt(0).toUpperCase()}${text.slice(1)}.`, { reason: code });
