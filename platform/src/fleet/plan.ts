/** The plan for one endpoint: from what is known of its jobs and workers to the steps that bring both together. */
import type { Item } from "../ports/store/collection.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import type { KeptWorker, WorkerState } from "../resources/workers/model.ts";
import { brakeOf, FAILURES_THAT_COUNT, type Failure, FORGIVEN_AFTER_MS, HEALTHY_AFTER_MS } from "./brake.ts";
import { needOf } from "./need.ts";
import type { Place, Room } from "./placer.ts";
import { type Crew, idleTimeoutOf, idleTooLong, type Load, type ScalingPolicy, wantedWorkers } from "./scaler.ts";

export type WorkerItem = Item<KeptWorker>;

export interface Facts {
  endpoint: KeptEndpoint;
  workers: readonly WorkerItem[];
  load: Load;
  /** Jobs of each worker that was heard of lately. Workers started by hand are among them, and have no record. */
  jobsOf: ReadonlyMap<string, number>;
  /** Since when a worker without a job has had none. */
  idleSince: (worker: string) => number | undefined;
  /** What is free; places that the plan takes are no longer free for the next endpoint. */
  room: Room;
  /** Machines that are there. */
  isThere: (machine: string) => boolean;
  now: number;
}

/** Every step is a write to the records; what must be done on a machine is done there, by whoever reads them. */
export type Step =
  | { do: "add"; place: Place }
  | { do: "want"; reason: string }
  | { do: "place"; worker: WorkerItem; place: Place }
  | { do: "explain"; worker: WorkerItem; reason: string }
  | { do: "drain"; worker: WorkerItem; reason: string }
  /** Its machine is gone, and with it all that was there. */
  | { do: "lose"; worker: WorkerItem; reason: string }
  /** The record of a worker that never began, or of a failure that no longer matters. */
  | { do: "forget"; worker: WorkerItem };

const STARTING: readonly WorkerState[] = ["WANTED", "PLACED", "STARTING"];
const RUNNING: readonly WorkerState[] = ["PLACED", "STARTING", "READY"];

export function plan(facts: Facts): Step[] {
  const { endpoint, workers } = facts;
  const lost = lostSteps(facts);
  const gone = new Set(lost.map(({ worker }) => worker));
  const there = workers.filter((worker) => !gone.has(worker));
  const stale = there.filter(({ doc }) => doc.release !== endpoint.release);
  const current = there.filter(({ doc }) => doc.release === endpoint.release);
  const forgotten = failuresToForget(facts, current);
  return [
    ...lost,
    ...stale.flatMap((worker) => endStep(worker, `new release ${endpoint.release}`)),
    ...forgotten.map((worker): Step => ({ do: "forget", worker })),
    ...scaleSteps(
      facts,
      current.filter((worker) => !forgotten.includes(worker)),
      there,
    ),
  ];
}

/** Workers of a machine that is gone: whoever has its jobs notices by their silence, their records would stay for ever. */
function lostSteps({ workers, isThere }: Facts): Extract<Step, { do: "lose" }>[] {
  return workers
    .filter(({ doc }) => doc.machine !== null && !isThere(doc.machine))
    .filter(({ doc }) => doc.state !== "FAILED")
    .map((worker) => ({ do: "lose", worker, reason: `machine ${worker.doc.machine} is gone` }));
}

/** One that runs is drained, one that never began is forgotten, and so is a failure that says nothing of what is now. */
function endStep(worker: WorkerItem, reason: string): Step[] {
  if (RUNNING.includes(worker.doc.state)) return [{ do: "drain", worker, reason }];
  return worker.doc.state === "DRAINING" ? [] : [{ do: "forget", worker }];
}

/** A healthy worker clears the past, and so does time; otherwise only as many failures are kept as make a difference. */
function failuresToForget({ now }: Facts, current: readonly WorkerItem[]): WorkerItem[] {
  const failed = current
    .filter(({ doc }) => doc.state === "FAILED")
    .sort((a, b) => (b.doc.failedAt ?? 0) - (a.doc.failedAt ?? 0));
  const healthy = current.some(
    ({ doc }) => doc.state === "READY" && doc.readyAt !== null && now - doc.readyAt >= HEALTHY_AFTER_MS,
  );
  const isOver = ({ doc }: WorkerItem) => now - (doc.failedAt ?? 0) >= FORGIVEN_AFTER_MS;
  return healthy ? failed : failed.filter((worker, i) => i >= FAILURES_THAT_COUNT || isOver(worker));
}

export function failuresOf(workers: readonly WorkerItem[]): Failure[] {
  return workers.flatMap(({ doc }) =>
    doc.state === "FAILED" ? [{ at: doc.failedAt ?? 0, reason: doc.reason ?? "failed" }] : [],
  );
}

function scaleSteps(facts: Facts, current: readonly WorkerItem[], all: readonly WorkerItem[]): Step[] {
  const { load, now } = facts;
  const byHand = startedByHand(facts);
  const policy = policyOf(facts.endpoint, byHand.length);
  const crew = crewOf(facts, current, byHand);
  const have = crew.starting + crew.ready;
  const wanted = wantedWorkers(policy, load, crew, now);
  if (have > policy.max) return surplusSteps(facts, current, have - policy.max);
  if (wanted > have) return [...placeSteps(facts, current), ...startSteps(facts, current, all, wanted - have)];
  const needless = load.waiting === 0 ? current.filter(({ doc }) => doc.state === "WANTED") : [];
  const dropped = needless.slice(0, Math.max(0, have - policy.min));
  const stillWanted = current.filter((worker) => !dropped.includes(worker));
  const idle = idleOf(facts, current);
  const tooLong = new Set(idleTooLong(idle, have - dropped.length, policy, load, now));
  return [
    ...dropped.map((worker): Step => ({ do: "forget", worker })),
    ...placeSteps(facts, stillWanted),
    ...current
      .filter(({ id }) => tooLong.has(id))
      .map((worker): Step => ({ do: "drain", worker, reason: `idle for ${policy.idleTimeoutMs / 1000} s` })),
  ];
}

/** Workers that somebody started by hand do their part of the load, and take no place from those that are started here. */
function policyOf({ type, workers, scaling }: KeptEndpoint, byHand: number): ScalingPolicy {
  const { min, max, idleTimeout } = workers;
  return { min, max: max + byHand, scaling, idleTimeoutMs: idleTimeoutOf(idleTimeout, scaling, type) };
}

function startedByHand({ workers, jobsOf }: Facts): number[] {
  const known = new Set(workers.map(({ id }) => id));
  return [...jobsOf].filter(([id]) => !known.has(id)).map(([, jobs]) => jobs);
}

function crewOf({ jobsOf }: Facts, current: readonly WorkerItem[], byHand: readonly number[]): Crew {
  const starting = current.filter(({ doc }) => STARTING.includes(doc.state)).length;
  const ready = current.filter(({ doc }) => doc.state === "READY");
  const jobs = [...ready.map(({ id }) => jobsOf.get(id) ?? 0), ...byHand];
  return { starting, ready: jobs.length, idle: jobs.filter((count) => count === 0).length };
}

function idleOf({ idleSince }: Facts, current: readonly WorkerItem[]) {
  return current.flatMap(({ id, doc }) => {
    const since = doc.state === "READY" ? idleSince(id) : undefined;
    return since === undefined ? [] : [{ id, since }];
  });
}

/** Those that lose least come first: not yet begun, then idle, then whoever is busy, after its job. */
function surplusSteps({ jobsOf }: Facts, current: readonly WorkerItem[], count: number): Step[] {
  const order: WorkerState[] = ["WANTED", "PLACED", "STARTING", "READY"];
  const cost = ({ id, doc }: WorkerItem) => order.indexOf(doc.state) + (jobsOf.get(id) ?? 0);
  return current
    .filter(({ doc }) => order.includes(doc.state))
    .sort((a, b) => cost(a) - cost(b))
    .slice(0, count)
    .flatMap((worker) => endStep(worker, "more workers than the endpoint may have"));
}

/** Workers that wait for room get it, or the reason of now. */
function placeSteps({ endpoint, room }: Facts, current: readonly WorkerItem[]): Step[] {
  const need = needOf(endpoint);
  return current
    .filter(({ doc }) => doc.state === "WANTED")
    .flatMap((worker): Step[] => {
      const place = room.take(need);
      if (!("reason" in place)) return [{ do: "place", worker, place }];
      return place.reason === worker.doc.reason ? [] : [{ do: "explain", worker, reason: place.reason }];
    });
}

/** `max` holds for all that run, those included that only end their last job. After failures one at a time, when the brake lets go. */
function startSteps(facts: Facts, current: readonly WorkerItem[], all: readonly WorkerItem[], more: number): Step[] {
  const { endpoint, room, now } = facts;
  const living = all.filter(({ doc }) => doc.state !== "FAILED").length;
  const brake = brakeOf(failuresOf(current));
  const starting = current.filter(({ doc }) => STARTING.includes(doc.state)).length;
  const allowed = brake === undefined ? more : brake.until > now ? 0 : 1 - starting;
  const count = Math.min(more, allowed, endpoint.workers.max - living);
  return Array.from({ length: Math.max(0, count) }, (): Step => {
    const place = room.take(needOf(endpoint));
    return "reason" in place ? { do: "want", reason: place.reason } : { do: "add", place };
  });
}
