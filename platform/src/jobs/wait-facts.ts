/** Gathers the facts that explain every waiting job of an endpoint. */
import type { Reason } from "../kernel/reason.ts";
import type { Counts, HolderState, Queue } from "../ports/queue/queue.ts";
import type { Overruns } from "./overruns.ts";
import type { Workforce } from "./wait-reason.ts";

export interface WaitFactParts {
  queue: Pick<Queue, "counts" | "holders">;
  /** What workers that appear to be idle are still working on. */
  overruns: Pick<Overruns, "freedomOf">;
  /** Whether each worker of the endpoint serves one account only. */
  isApart?: (endpoint: string) => boolean;
  /** The fleet, if this server keeps workers. */
  fleet:
    | { waitReason(endpoint: string, of: Workforce, onlyLowPriority: boolean): Promise<Reason | undefined> }
    | undefined;
}

/** Workers stay bound to an account when their endpoint no longer wants that. Then it means nothing. */
const unbound = (holders: readonly HolderState[]) => holders.map(({ caller: _, ...holder }) => holder);

export interface WaitFacts {
  counts: Counts;
  workforce: Workforce;
  /** The reason that the fleet gives. */
  ofWorkers: Reason | undefined;
}

export async function waitFacts(parts: WaitFactParts, endpoint: string): Promise<WaitFacts> {
  const { queue, fleet, overruns, isApart } = parts;
  const [counts, known] = await Promise.all([queue.counts(endpoint), queue.holders(endpoint)]);
  const holders = isApart?.(endpoint) ? known : unbound(known);
  const onlyLowPriority = counts.inQueue === counts.lowPriorityInQueue;
  const workforce = { holders, freedom: await overruns.freedomOf(holders) };
  return { counts, workforce, ofWorkers: await fleet?.waitReason(endpoint, workforce, onlyLowPriority) };
}
