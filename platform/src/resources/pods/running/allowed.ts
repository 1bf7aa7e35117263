/** Says what may happen to a Pod as it is on record now, since others may have changed it meanwhile. */
import type { Clock } from "../../../kernel/clock.ts";
import type { Instance } from "../../../ports/compute/compute.ts";
import type { PodInstance } from "../instance.ts";
import { podInstanceLifecycle, podLifecycle } from "../lifecycle.ts";
import type { PodItem } from "../records.ts";

export const running = ({ startedAt, address }: Instance) =>
  ({ move: "run", set: { reason: null, startedAt, address: address ?? null } }) as const;

/** Another node may have recorded this a moment ago, and instances are remembered for a moment. */
export const mayRun = (pod: PodItem) => podLifecycle.can(pod.doc.status, "run");

/** Its owner may have asked for a restart meanwhile. Then its end is part of that. */
export const mayCrash = (pod: PodItem, { doc }: PodInstance) =>
  podLifecycle.can(pod.doc.status, "crash") && podInstanceLifecycle.can(doc.state, "crash");

export const isDue = ({ doc }: PodItem, clock: Clock) => (doc.crashes?.startsAgainAt ?? 0) <= clock.now();
