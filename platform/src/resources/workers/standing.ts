/** The status of an endpoint's workers. Lists, health, metrics and logs all use this one answer. */
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
 * The status of a READY worker depends on its jobs and hindrance. A worker that is gone is not shown. A draining worker counts as running
 * until it ends, because it cannot take a job.
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

/** What is known of a worker from its recent requests. */
export interface Heard {
  jobs: number;
  /** The hindrance of a worker that was started by hand. Other workers have it on record. */
  hindrance?: Hindrance | undefined;
}

interface Moment {
  now: number;
  silentSince: SilentSince;
}

/** The platform's workers first, the newest first, followed by connected workers that were started by hand. */
export function standingWorkers(
  kept: readonly WorkerItem[],
  heard: ReadonlyMap<string, Heard>,
  { release, ...moment }: Moment & { release: number },
): Worker[] {
  const { now } = moment;
  const made = active(kept).flatMap((item): Worker[] => {
    const known = standingOf(item, heard.get(item.id), moment);
    return known ? [shown(item, known, { release, now })] : [];
  });
  const byHand = startedByHand(kept, heard).map(([id, one]) => handMade(id, standing(one, one.hindrance, now)));
  return [...made, ...byHand];
}

/** The summary of the same workers. Thousands are counted every few seconds, so none of them is shown. */
export function countedWorkers(
  kept: readonly WorkerItem[],
  heard: ReadonlyMap<string, Heard>,
  moment: Moment,
): WorkerSummary {
  const counts = new Counts();
  for (const item of active(kept)) counts.add(standingOf(item, heard.get(item.id), moment)?.status);
  for (const [, one] of startedByHand(kept, heard)) counts.add(standing(one, one.hindrance, moment.now).status);
  return counts.summary();
}

/** Undefined for a worker that is gone. */
function standingOf(item: WorkerItem, heard: Heard | undefined, { now, silentSince }: Moment): Standing | undefined {
  const status = STATUS[item.doc.state as WorkerState];
  if (status === undefined) return undefined;
  const hindrance = hindranceFrom(item, silentSince);
  const known = standing(heard, hindrance, now);
  return status === "by jobs" || hindrance?.kind === "lost" ? known : { ...known, status };
}

function startedByHand(kept: readonly WorkerItem[], heard: ReadonlyMap<string, Heard>): [string, Heard][] {
  if (heard.size === 0) return [];
  const known = new Set(kept.map(({ id }) => id));
  return [...heard].filter(([id]) => !known.has(id));
}

/** Leaves out workers that have ended. If there are no others, the newest failed worker stays, to show what goes wrong. */
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
  return heard && heard.jobs > 0 ? RUNNING : IDLE;
}

const RUNNING: Standing = { status: "RUNNING", reason: null };
const IDLE: Standing = { status: "IDLE", reason: null };

class Counts {
  readonly #counts: Record<WorkerStatus, number> = {
    ...{ RUNNING: 0, IDLE: 0, INITIALIZING: 0, THROTTLED: 0, UNHEALTHY: 0 },
  };
  #total = 0;

  add(status: WorkerStatus | undefined): void {
    if (status === undefined) return;
    this.#counts[status]++;
    this.#total++;
  }

  summary(): WorkerSummary {
    const { RUNNING: running, IDLE: idle, INITIALIZING: initializing } = this.#counts;
    const { THROTTLED: throttled, UNHEALTHY: unhealthy } = this.#counts;
    return { running, idle, initializing, throttled, unhealthy, total: this.#total };
  }
}

export function summaryOf(workers: readonly Worker[]): WorkerSummary {
  const counts = new Counts();
  for (const { status } of workers) counts.add(status);
  return counts.summary();
}

/** The workers that can take a job at once. A frozen worker has to thaw first. */
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

/** Shows a worker that was started by hand. Nothing is known of it except that it asks for work. */
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
