/** Decides which Pods leave a machine that is being drained, and why the others stay. */
import type { PodInstance } from "./instance.ts";
import type { PodItem } from "./records.ts";

/** Undefined for a Pod that is stopped. Its owner agreed to that by making it interruptible. */
export function staysFor(instance: PodInstance, pod: PodItem | undefined): string | undefined {
  if (instance.doc.state === "ENDING" || !pod) return "it is ending";
  const { cluster, locked, interruptible, mounts } = pod.doc;
  if (cluster)
    return `it is rank ${cluster.rank} of cluster ${cluster.id}, which ends as a whole when its owner deletes it`;
  if (locked) return "its owner locked it";
  if (interruptible) return undefined;
  if (mounts.persistent) return "its persistent mount is on this machine, until its owner terminates it";
  return "its owner did not make it interruptible; once it is stopped, it starts on another machine";
}
