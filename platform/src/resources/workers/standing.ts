/** How the workers of an endpoint stand: one answer for lists, health, metrics and logs. */
import { timestamp } from "../../kernel/clock.ts";
import { type Reason, withPlacesHidden } from "../../kernel/reason.ts";
import type { SilentSince } from "../../machines/silences.ts";
import { hindranceFrom, shownHindrance } from "./hindrance.ts";
import {
  type Hindrance,
  type Worker,
  type WorkerState,
  type WorkerStatus,
  type WorkerSummary,
  workerLifecycle,
} from "./model.ts";
import type { WorkerItem } from "./records.ts";

/**
 * Of a worker that answers it depends on its jobs and on what hinders it; of one that is gone there is nothing to show. One that is
 * drained runs until it ends, and nobody could give it a job.
 */
const STATUS: Record<WorkerState, WorkerStatus | "by jobs" | undefined> = {
  WANTED: "THROTTLED",
  PLACED: "INITIALIZING",
  STARTING: "INITIALIZING",
  READY: "by jobs",
  FROZEN: "IDLE",
  DRAINING: "RUNNING",
  FAILED: "UNHEALTHY",
  GONE: undefined,
};

/** What was heard of a worker lately. */
export interface Heard {
  jobs: number;
  /** What hinders one that was started by hand; of others that is on record. */
  hindrance?: Hindrance | undefined;
}

/** Workers that the platform made, newest first, then those that were started by hand and are connected. */
export function standingWorkers(
  kept: readonly WorkerItem[],
  heard: ReadonlyMap<string, Heard>,
  { release, now, silentSince }: { release: number; now: number; silentSince: SilentSince },
): Worker[] {
  const made = active(kept).flatMap((item): Worker[] => {
    const status = STATUS[item.doc.state as WorkerState];
    if (status === undefined) return [];
    const hindrance = hindranceFrom(item, silentSince);
    const { status: known, reason } = standing(heard.get(item.id), hindrance, now);
    const isKnown = status === "by jobs" || hindrance?.kind === "lost";
    return [shown(item, { status: isKnown ? known : status, reason }, { release, now })];
  });
  const known = new Set(kept.map(({ id }) => id));
  const byHand = [...heard]
    .filter(([id]) => !known.has(id))
    .map(([id, one]) => handMade(id, standing(one, one.hindrance, now)));
  return [...made, ...byHand];
}

/** A boot that has ended is not listed, but for the newest failure while there is nothing else: it stands for what goes wrong. */
function active(kept: readonly WorkerItem[]): WorkerItem[] {
  const living = kept.filter(({ doc }) => doc.state !== "FAILED" && doc.state !== "GONE");
  if (living.length > 0) return living;
  const newestFirst = [...kept].sort((a, b) => (b.doc.failedAt ?? 0) - (a.doc.failedAt ?? 0));
  return newestFirst.filter(({ doc }) => doc.state === "FAILED").slice(0, 1);
}

interface Standing {
  status: WorkerStatus;
  reason: Reason | null;
}

function standing(heard: Heard | undefined, hindrance: Hindrance | undefined, now: number): Standing {
  if (hindrance) return shownHindrance(hindrance, now);
  return { status: heard && heard.jobs > 0 ? "RUNNING" : "IDLE", reason: null };
}

export function summaryOf(workers: readonly Worker[]): WorkerSummary {
  const count = (status: WorkerStatus) => workers.filter((worker) => worker.status === status).length;
  return {
    running: count("RUNNING"),
    idle: count("IDLE"),
    initializing: count("INITIALIZING"),
    throttled: count("THROTTLED"),
    unhealthy: count("UNHEALTHY"),
    total: workers.length,
  };
}

/** Those that a job could be given to at once. A frozen one must be thawed first. */
export function readyWorkers(workers: readonly Worker[]): string[] {
  return workers.filter(({ status, frozen }) => status === "IDLE" && !frozen).map(({ id }) => id);
}

function shown(
  { id, doc }: WorkerItem,
  { status, reason }: Standing,
  { release, now }: { release: number; now: number },
): Worker {
  const { startedAt } = doc;
  return {
    id,
    status,
    ...(doc.state === "FROZEN" && { frozen: true }),
    actions: workerLifecycle.actions(doc.state),
    isStale: doc.release !== release,
    gpuCount: doc.gpuCount,
    version: doc.release,
    image: doc.image,
    gpuTypeId: doc.gpuType,
    dataCenterId: doc.dataCenter ?? null,
    uptimeSeconds: startedAt === null ? null : Math.max(0, Math.floor((now - startedAt) / 1000)),
    startedAt: startedAt === null ? null : timestamp(startedAt),
    ...shownReason(reason ?? doc.reason),
  };
}

/** Nothing is known of it but that it asks for work. */
function handMade(id: string, { status, reason }: Standing): Worker {
  return {
    ...{ id, status, isStale: false, gpuCount: 0, version: null, image: null, gpuTypeId: null, dataCenterId: null },
    ...{ actions: [], uptimeSeconds: null, startedAt: null, ...shownReason(reason) },
  };
}

function shownReason(kept: Reason | null): Pick<Worker, "reason" | "reasonCode"> {
  const reason = withPlacesHidden(kept);
  return { reason: reason?.text ?? null, reasonCode: reason?.code ?? null };
}
