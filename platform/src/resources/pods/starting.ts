/** How a Pod can be started or stopped: waiting for room or not, with other GPUs than before, anew, or as an older surface asks for it. */
import { problem } from "../../kernel/problem.ts";
import type { Reason } from "../../kernel/reason.ts";
import { refuseLowBid } from "./bids.ts";
import { soldIn } from "./fields.ts";
import type { KeptPod } from "./model.ts";
import type { PodItem } from "./records.ts";

/** How a Pod is started or stopped. */
export interface Starting {
  /** Whether it waits where there is no room for it now; otherwise it stays stopped, and the start is refused. */
  waits?: boolean;
  /** GPUs that it is to have from now on; with 0 it runs without them until it is started again. */
  gpuCount?: number | undefined;
  /** What it bids for each GPU from now on; only of one that gives way. */
  bidPerGpu?: number | undefined;
  /** Whether what is asked for is a container anew, which a lock keeps it from. */
  isReset?: boolean;
  /** Whether who asks knows no status of a Pod that cannot run, and may stop one. */
  knowsNoError?: boolean;
}

/** What becomes of its GPUs by that, and of what it pays for them. */
export function gpusFor(pod: KeptPod, { gpuCount, bidPerGpu }: Starting): Partial<KeptPod> {
  const { gpu, cloud } = pod;
  const bid = bidPerGpu === undefined ? {} : bidFor(pod, bidPerGpu);
  if (!gpu) return bid;
  if (gpuCount && gpuCount !== gpu.count) soldIn(cloud, gpu.types, gpuCount);
  return { withoutGpu: gpuCount === 0, ...(gpuCount && { gpu: { ...gpu, count: gpuCount } }), ...bid };
}

function bidFor(pod: KeptPod, bidPerGpu: number): Partial<KeptPod> {
  if (!pod.interruptible)
    throw problem("rule-broken", "This Pod gives way to nobody, and bids nothing: start it without 'bidPerGpu'.");
  refuseLowBid({ ...pod, bidPerGpu });
  return { bidPerGpu };
}

export function refuseLocked({ locked }: KeptPod, deed: string): void {
  if (locked)
    throw problem("wrong-state", `This Pod is locked: unlock it before you ${deed} it.`, { reason: "pod-locked" });
}

/** Of a cluster all is done with all. */
export function refuseMember({ doc: { cluster } }: PodItem): void {
  if (cluster)
    throw problem(
      "wrong-state",
      `This Pod is rank ${cluster.rank} of cluster ${cluster.id}: it is not changed, stopped or deleted alone. Delete the cluster to end all of it.`,
      { reason: "cluster-member" },
    );
}

export const noRoom = ({ text, code }: Reason) =>
  problem("no-capacity", `${text.charAt(0).toUpperCase()}${text.slice(1)}.`, { reason: code });
