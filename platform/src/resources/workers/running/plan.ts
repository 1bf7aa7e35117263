/** The plan for one endpoint: the steps that give its jobs the workers they need. */

import { because, isSameReason, type Reason, reworded, saying } from "../../../kernel/reason.ts";
import type { Among } from "../../../machines/need.ts";
import type { Place } from "../../../machines/place.ts";
import type { Room } from "../../../machines/room.ts";
import type { SilentSince } from "../../../machines/silences.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import { hindranceFrom } from "../hindrance.ts";
import type { KeptWorker, WorkerState } from "../model.ts";
import { brakeOf, FAILURES_THAT_COUNT, type Failure, FORGIVEN_AFTER_MS, isProven } from "./brake.ts";
import { needsOf } from "./need.ts";
import {
  type Headcount,
  idleTimeoutOf,
  idleTooLong,
  type ScalingPolicy,
  unattendedJobs,
  type Workload,
  wantedWorkers,
} from "./scaler.ts";
import type { AccountShare } from "./share.ts";
import type { Shelf } from "./shelf.ts";

export type WorkerItem = Item<KeptWorker>;

export interface Facts {
  endpoint: KeptEndpoint;
  workers: readonly WorkerItem[];
  workload: Workload;
  /** The number of jobs of each worker that was heard of lately. It includes workers started by hand, which have no record. */
  jobsOf: ReadonlyMap<string, number>;
  /** The time since which a worker without a job has had none. */
  idleSince: (worker: string) => number | undefined;
  /** The free room. Places that this plan takes are not free for the next endpoint. */
  room: Room;
  /** What the endpoint's account may still have. */
  share: AccountShare;
  /** Why nothing is started whatever is free: the account or its key has reached its spend limit. */
  unpaid?: Reason | undefined;
  /** Why no new worker is started whatever is free: a model that the endpoint names is not there. */
  missing?: Reason | undefined;
  /** The machines that have the models that the endpoint names. */
  among?: Among | undefined;
  /** The frozen workers of all endpoints, without those that the plan has thawed or ended. */
  shelf: Shelf;
  /** Frozen workers that requests ask for by affinity. */
  called: readonly string[];
  /** Whether a machine exists, even if it is silent now. */
  isThere: (machine: string) => boolean;
  silentSince: SilentSince;
  /** Whether a machine is being drained, so that nothing may stay there. */
  isDraining: (machine: string) => boolean;
  now: number;
}

/** Every step is a write to the records. The keeper of the machine reads them and does the work there. */
export type Step =
  | { do: "add"; place: Place }
  | { do: "want"; reason: Reason }
  | { do: "place"; worker: WorkerItem; place: Place }
  | { do: "explain"; worker: WorkerItem; reason: Reason }
  | { do: "freeze"; worker: WorkerItem; reason: Reason }
  | { do: "thaw"; worker: WorkerItem }
  | { do: "drain"; worker: WorkerItem; reason: Reason }
  /** The machine is gone, and the worker with it. */
  | { do: "lose"; worker: WorkerItem; reason: Reason }
  /** Removes the record of a worker that never began, or of a failure that no longer matters. */
  | { do: "forget"; worker: WorkerItem };

/** These steps come before all others, which may rely on the room that they make below the maximum. */
export const isRemoval = (step: Step): boolean => step.do === "lose" || step.do === "forget";

const STARTING: readonly WorkerState[] = ["WANTED", "PLACED", "STARTING"];
const AWAKE: readonly WorkerState[] = ["PLACED", "STARTING", "READY"];
const RUNNING: readonly WorkerState[] = ["PLACED", "STARTING", "READY", "FROZEN"];

export function plan(facts: Facts): Step[] {
  const { endpoint, workers } = facts;
  const lost = lostSteps(facts);
  const gone = new Set(lost.map(({ worker }) => worker));
  const there = workers.filter((worker) => !gone.has(worker));
  const leaving = there.filter((worker) => mustLeave(facts, worker));
  const staying = there.filter((worker) => !leaving.includes(worker));
  const stale = staying.filter(({ doc }) => doc.release !== endpoint.release);
  const current = staying.filter(({ doc }) => doc.release === endpoint.release);
  const forgotten = failuresToForget(facts, current);
  return [
    ...lost,
    ...leaving.flatMap((worker) =>
      endStep(facts, worker, because("machine-drained", { machine: worker.doc.machine! })),
    ),
    ...stale.flatMap((worker) => endStep(facts, worker, because("new-release", { release: endpoint.release }))),
    ...forgetSteps(forgotten),
    ...scaleSteps(
      facts,
      current.filter((worker) => !forgotten.includes(worker)),
      there,
    ),
  ];
}

/** Whether the worker runs on a machine that is being drained. Another worker takes its place elsewhere. */
const mustLeave = ({ isDraining }: Facts, { doc }: WorkerItem): boolean =>
  doc.machine !== null && RUNNING.includes(doc.state) && isDraining(doc.machine);

/** Workers on a machine that is gone. The sweeper notices their silence and frees their jobs, but their records would stay forever. */
function lostSteps({ workers, isThere }: Facts): Extract<Step, { do: "lose" }>[] {
  return workers
    .filter(({ doc }) => doc.machine !== null && !isThere(doc.machine))
    .filter(({ doc }) => doc.state !== "FAILED")
    .map((worker) => ({ do: "lose", worker, reason: because("machine-gone", { machine: worker.doc.machine! }) }));
}

/** Drains a worker that runs. Forgets one that never began, and a failure that says nothing about the present. */
function endStep({ shelf }: Facts, worker: WorkerItem, reason: Reason): Step[] {
  shelf.take(worker);
  if (RUNNING.includes(worker.doc.state)) return [{ do: "drain", worker, reason }];
  return worker.doc.state === "DRAINING" ? [] : [{ do: "forget", worker }];
}

/** A healthy worker clears all failures, and so does time. Otherwise only as many are kept as affect the brake. */
function failuresToForget(facts: Facts, current: readonly WorkerItem[]): WorkerItem[] {
  const { endpoint, now } = facts;
  const failed = current
    .filter(({ doc }) => doc.state === "FAILED")
    .sort((a, b) => (b.doc.failedAt ?? 0) - (a.doc.failedAt ?? 0));
  const healthy = current.some((worker) => {
    const { state, readyAt } = worker.doc;
    return (
      state === "READY" && readyAt !== null && !isHindered(worker, facts) && isProven(endpoint.type, now - readyAt)
    );
  });
  const isOver = ({ doc }: WorkerItem) => now - (doc.failedAt ?? 0) >= FORGIVEN_AFTER_MS;
  return healthy ? failed : failed.filter((worker, i) => i >= FAILURES_THAT_COUNT || isOver(worker));
}

export function failuresOf(workers: readonly WorkerItem[]): Failure[] {
  return workers.flatMap(({ doc }) =>
    doc.state === "FAILED" ? [{ at: doc.failedAt ?? 0, reason: doc.reason ?? saying("boot-failed", "failed") }] : [],
  );
}

function scaleSteps(facts: Facts, before: readonly WorkerItem[], all: readonly WorkerItem[]): Step[] {
  const { workload, now } = facts;
  const byHand = startedByHand(facts);
  const policy = policyOf(facts.endpoint, byHand.length);
  const headcount = headcountOf(facts, before, byHand);
  const wanted = wantedWorkers(policy, workload, headcount, now);
  const thaws = thawSteps(facts, before, all, { policy, headcount, wanted });
  const replaced = replacedBy(thaws, facts, before, all);
  const current = before.filter((worker) => !replaced.includes(worker));
  const have = headcount.starting + headcount.ready - replaced.length;
  const more = [...forgetSteps(replaced), ...thaws, ...letGoSteps(facts, current, policy.max - have - thaws.length)];
  const missing = wanted - have - thaws.length;
  const surplus = have + current.filter((worker) => isHindered(worker, facts)).length - policy.max;
  if (surplus > 0) return [...more, ...surplusSteps(facts, current, surplus)];
  if (missing > 0)
    return [...more, ...placeSteps(facts, current), ...startSteps(facts, current, all, missing, thaws.length)];
  const needless = workload.waiting === 0 ? current.filter(({ doc }) => doc.state === "WANTED") : [];
  const dropped = needless.slice(0, Math.max(0, have - policy.min));
  const stillWanted = current.filter((worker) => !dropped.includes(worker));
  const idle = idleOf(facts, current);
  const tooLong = new Set(idleTooLong(idle, have - dropped.length, policy, workload, now));
  return [
    ...more,
    ...forgetSteps(dropped),
    ...placeSteps(facts, stillWanted),
    ...current
      .filter(({ id }) => tooLong.has(id))
      .map((worker) => restStep(facts, worker, policy.idleTimeoutMs / 1000)),
  ];
}

const forgetSteps = (workers: readonly WorkerItem[]) => workers.map((worker): Step => ({ do: "forget", worker }));

/**
 * A thaw costs almost nothing, so it comes before any start, and also for jobs that have not waited long. The last one frozen thaws first.
 */
function thawSteps(
  facts: Facts,
  current: readonly WorkerItem[],
  all: readonly WorkerItem[],
  { policy, headcount, wanted }: { policy: ScalingPolicy; headcount: Headcount; wanted: number },
): Step[] {
  const { endpoint, workload, shelf, called, share } = facts;
  if (facts.unpaid !== undefined) return [];
  const frozen = frozenOf(facts, current).reverse();
  const first = frozen.filter(({ id }) => called.includes(id));
  // Workers that wait for room are not coming yet, and are not needed if a frozen worker can take their place.
  const unplaced = current.filter(({ doc }) => doc.state === "WANTED").length;
  const coming = { ...headcount, starting: headcount.starting - unplaced };
  const needed = Math.max(wanted - coming.starting - coming.ready, unattendedJobs(policy, workload, coming));
  const count = Math.min(Math.max(needed, first.length), endpoint.workers.max - (livingOf(facts, all) - unplaced));
  const order = [...first, ...frozen.filter((worker) => !first.includes(worker))];
  return order.slice(0, Math.max(0, count)).flatMap((worker): Step[] => {
    if (share.refusal(worker.doc) !== undefined) return [];
    shelf.take(worker);
    share.take(worker.doc);
    return [{ do: "thaw", worker }];
  });
}

/** Workers that wait for room and would exceed the maximum beside those that are thawed. They must not be placed any more. */
function replacedBy(
  thaws: readonly Step[],
  facts: Facts,
  current: readonly WorkerItem[],
  all: readonly WorkerItem[],
): WorkerItem[] {
  if (thaws.length === 0) return [];
  const over = livingOf(facts, all) + thaws.length - facts.endpoint.workers.max;
  return current.filter(({ doc }) => doc.state === "WANTED").slice(0, Math.max(0, over));
}

/**
 * Ends frozen workers that were frozen too long, and those that would exceed the maximum if they were thawed. The longest frozen end first.
 */
function letGoSteps(facts: Facts, current: readonly WorkerItem[], most: number): Step[] {
  const { shelf, now, endpoint } = facts;
  const frozen = frozenOf(facts, current);
  if (endpoint.flashboot === "OFF") return frozen.flatMap((worker) => endStep(facts, worker, because("flashboot-off")));
  const over = frozen.filter((worker) => shelf.isOver(worker, now));
  const left = frozen.filter((worker) => !over.includes(worker));
  const tooMany = left.slice(0, Math.max(0, left.length - Math.max(0, most)));
  return [
    ...over.flatMap((worker) => endStep(facts, worker, because("frozen-too-long"))),
    ...tooMany.flatMap((worker) => endStep(facts, worker, because("too-many-workers"))),
  ];
}

/** Sorted with the longest frozen first. */
function frozenOf({ shelf }: Facts, workers: readonly WorkerItem[]): WorkerItem[] {
  return workers.filter((worker) => shelf.has(worker)).sort((a, b) => (a.doc.frozenAt ?? 0) - (b.doc.frozenAt ?? 0));
}

/** Freezes or drains a worker that has nothing to do. */
function restStep({ endpoint, shelf }: Facts, worker: WorkerItem, seconds: number): Step {
  const reason = because("idle", { seconds });
  if (endpoint.flashboot === "OFF") return { do: "drain", worker, reason };
  const refused = shelf.put(worker);
  if (!refused) return { do: "freeze", worker, reason };
  const unfrozen = reworded(refused.reason, (text) => `not frozen: ${text}`);
  return { do: "drain", worker, reason: because("idle", { seconds }, unfrozen) };
}

/** Workers that somebody started by hand do their share of the work, but do not count against the maximum. */
function policyOf({ type, workers, scaling }: KeptEndpoint, byHand: number): ScalingPolicy {
  const { min, max, idleTimeout } = workers;
  return { min, max: max + byHand, scaling, idleTimeoutMs: idleTimeoutOf(idleTimeout, scaling, type) };
}

function startedByHand({ workers, jobsOf }: Facts): number[] {
  const known = new Set(workers.map(({ id }) => id));
  return [...jobsOf].filter(([id]) => !known.has(id)).map(([, jobs]) => jobs);
}

/** A worker that has to stop a job asks for the next one within this time. The public worker package needs about a second. */
const STOPPING_MS = 2000;

/** Whether a worker runs but cannot take waiting jobs. Such workers are not counted on. */
function isHindered(worker: WorkerItem, { now, silentSince }: Facts): boolean {
  const hindrance = AWAKE.includes(worker.doc.state) ? hindranceFrom(worker, silentSince) : undefined;
  if (!hindrance) return false;
  return hindrance.kind !== "overrun" || now - hindrance.since >= STOPPING_MS;
}

function headcountOf(facts: Facts, current: readonly WorkerItem[], byHand: readonly number[]): Headcount {
  const { jobsOf } = facts;
  const free = current.filter((worker) => !isHindered(worker, facts));
  const starting = free.filter(({ doc }) => STARTING.includes(doc.state)).length;
  const ready = free.filter(({ doc }) => doc.state === "READY");
  const jobs = [...ready.map(({ id }) => jobsOf.get(id) ?? 0), ...byHand];
  return { starting, ready: jobs.length, idle: jobs.filter((count) => count === 0).length };
}

function idleOf(facts: Facts, current: readonly WorkerItem[]) {
  return current.flatMap((worker) => {
    const { id, doc } = worker;
    const since = doc.state === "READY" && !isHindered(worker, facts) ? facts.idleSince(id) : undefined;
    // A worker that was just warmed up has not been idle since its first request for work.
    return since === undefined ? [] : [{ id, since: Math.max(since, doc.warmUp?.ended?.at ?? since) }];
  });
}

/**
 * Ends the workers that lose least: first hindered ones, then those that have not begun, then idle ones. Busy workers come last and finish
 * their jobs.
 */
function surplusSteps(facts: Facts, current: readonly WorkerItem[], count: number): Step[] {
  const { jobsOf } = facts;
  const order: WorkerState[] = ["WANTED", "PLACED", "STARTING", "READY"];
  const cost = (worker: WorkerItem) =>
    isHindered(worker, facts) ? -1 : order.indexOf(worker.doc.state) + (jobsOf.get(worker.id) ?? 0);
  return current
    .filter(({ doc }) => order.includes(doc.state))
    .sort((a, b) => cost(a) - cost(b))
    .slice(0, count)
    .flatMap((worker) => endStep(facts, worker, because("too-many-workers")));
}

/** Places workers that wait for room, or updates the reason why they wait. */
function placeSteps(facts: Facts, current: readonly WorkerItem[]): Step[] {
  return current
    .filter(({ doc }) => doc.state === "WANTED" && (doc.placeableAt ?? 0) <= facts.now)
    .flatMap((worker): Step[] => {
      const found = findPlace(facts);
      if (found.place) return [{ do: "place", worker, place: found.place }];
      const explain: Step[] = isSameReason(found.reason, worker.doc.reason)
        ? []
        : [{ do: "explain", worker, reason: found.reason }];
      return [...found.ends, ...explain];
    });
}

/**
 * All running workers count against `max`, even those that only finish their last job. After failures workers start one at a time, when the
 * brake allows it.
 */
function startSteps(
  facts: Facts,
  current: readonly WorkerItem[],
  all: readonly WorkerItem[],
  more: number,
  thawed: number,
): Step[] {
  const { endpoint, now, share } = facts;
  const brake = brakeOf(failuresOf(current));
  const starting = current.filter(({ doc }) => STARTING.includes(doc.state)).length;
  const allowed = brake === undefined ? more : brake.until > now ? 0 : 1 - starting;
  const count = Math.min(more, allowed, endpoint.workers.max - livingOf(facts, all) - thawed);
  const steps: Step[] = [];
  let wanted = current.filter(({ doc }) => doc.state === "WANTED").length;
  for (let n = 0; n < count; n++) {
    // If no worker can be started, one waiting worker is enough to say why.
    if (wanted > 0 && (!share.hasLine || facts.unpaid !== undefined || facts.missing !== undefined)) break;
    const found = findPlace(facts);
    if (found.place) steps.push({ do: "add", place: found.place });
    else steps.push(...found.ends, { do: "want", reason: found.reason });
    if (found.place) continue;
    share.standInLine();
    wanted++;
  }
  return steps;
}

/** Counts workers that run or will run. Frozen workers do not count, except those of an older release, which are about to end. */
function livingOf({ endpoint }: Facts, all: readonly WorkerItem[]): number {
  const isLiving = ({ state, release }: KeptWorker) =>
    state !== "FAILED" && (state !== "FROZEN" || release !== endpoint.release);
  return all.filter(({ doc }) => isLiving(doc)).length;
}

/** Finds a place, or the reason why there is none yet. Frozen workers give way to workers that are needed. */
function findPlace({
  endpoint,
  room,
  share,
  shelf,
  unpaid,
  missing,
  among,
}: Facts): { place: Place } | { place?: undefined; reason: Reason; ends: Step[] } {
  const refused = unpaid ?? missing;
  if (refused !== undefined) return { reason: refused, ends: [] };
  const needs = needsOf(endpoint, among);
  const [need] = needs;
  // This comes before making room, which would be in vain for a worker that exceeds the account's quota.
  const beyond = share.refusal({ gpuCount: need.kind === "gpu" ? need.count : 0, vcpu: 0 });
  if (beyond !== undefined) return { reason: beyond, ends: [] };
  const place = room.takeFirst(needs);
  if (!("reason" in place)) {
    const tooMuch = share.refusal(place);
    if (tooMuch === undefined) {
      share.take(place);
      return { place };
    }
    room.release(place);
    return { reason: tooMuch, ends: [] };
  }
  const evicted = firstOf(needs, (one) => shelf.makeRoom(one));
  if (!evicted) return { reason: place.reason, ends: [] };
  const ends = evicted.map((worker): Step => ({ do: "drain", worker, reason: because("gives-room") }));
  return { reason: because("making-room"), ends };
}

function firstOf<T, U>(all: readonly T[], find: (one: T) => U | undefined): U | undefined {
  for (const one of all) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
