/** Sees at a glance whether there is nothing to plan for an endpoint. */
import { hindranceFrom } from "../hindrance.ts";
import type { Facts } from "./plan.ts";

/** What must be known of an endpoint to see that it is at rest. */
type RestFacts = Pick<Facts, "endpoint" | "workers" | "workload" | "jobsOf" | "isThere" | "silentSince" | "isDraining">;

/**
 * Whether the plan has no steps, now and until one of these facts changes: just the minimum of workers runs, nothing hinders them, and no
 * job asks for more. It is far cheaper to see than to plan, and it is how most endpoints are most of the time.
 */
export function isAtRest({
  endpoint,
  workers,
  workload,
  jobsOf,
  isThere,
  silentSince,
  isDraining,
}: RestFacts): boolean {
  const { min, max } = endpoint.workers;
  if (workers.length !== min || min > max || workload.waiting + workload.lowPriorityWaiting + workload.inProgress > 0)
    return false;
  for (const worker of workers) {
    const { state, release, machine } = worker.doc;
    if (state !== "READY" || release !== endpoint.release || machine === null) return false;
    if (!isThere(machine) || isDraining(machine) || hindranceFrom(worker, silentSince)) return false;
  }
  for (const id of jobsOf.keys()) if (!workers.some((worker) => worker.id === id)) return false;
  return true;
}
