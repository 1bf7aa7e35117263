/** How a Pod can be started: waiting for room or not, with other GPUs than before, or anew. */
import { problem } from "../../kernel/problem.ts";
import type { KeptPod } from "./model.ts";

/** How a Pod is started. */
export interface Starting {
  /** Whether it waits where there is no room for it now; otherwise it stays stopped, and the start is refused. */
  waits?: boolean;
  /** GPUs that it is to have from now on; with 0 it runs without them until it is started again. */
  gpuCount?: number | undefined;
  /** Whether what is asked for is a container anew, which a lock keeps it from. */
  isReset?: boolean;
}

/** What becomes of its GPUs by that. */
export function gpusFor({ gpu }: KeptPod, { gpuCount }: Starting): Partial<KeptPod> {
  if (!gpu) return {};
  return { withoutGpu: gpuCount === 0, ...(gpuCount && { gpu: { ...gpu, count: gpuCount } }) };
}

export function refuseLocked({ locked }: KeptPod, deed: string): void {
  if (locked)
    throw problem("wrong-state", `This Pod is locked: unlock it before you ${deed} it.`, { reason: "pod-locked" });
}
