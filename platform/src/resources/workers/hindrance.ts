/** What keeps a worker that runs from taking work: one answer for lists, plans and jobs that wait. */
import type { Overrun } from "../../jobs/overruns.ts";
import { silenceReason } from "../../jobs/silence.ts";
import { because, reworded, saying } from "../../kernel/reason.ts";
import { type SilentSince, silenceOf } from "../../machines/silences.ts";
import type { Hindrance, WorkerState, WorkerStatus } from "./model.ts";
import type { WorkerItem } from "./records.ts";

/** What hindered a worker before it was frozen, drained or failed is over. */
export const hindranceOf = ({ doc }: WorkerItem): Hindrance | undefined =>
  (doc.state === "READY" && doc.hindrance) || undefined;

/** In which it has a machine that something of it is on. */
const ON_A_MACHINE: readonly WorkerState[] = ["PLACED", "STARTING", "READY", "FROZEN", "DRAINING"];

/** The same as others see it than the node of its machine: of a machine that is silent nobody knows what it does. */
export function hindranceFrom(worker: WorkerItem, silentSince: SilentSince): Hindrance | undefined {
  const { state, machine } = worker.doc;
  const since = silentSince(machine);
  if (machine === null || since === undefined || !ON_A_MACHINE.includes(state)) return hindranceOf(worker);
  return { kind: "lost", since, reason: reworded(silenceOf(machine, since), (text) => `on ${text}`) };
}

export const silence = (ms: number, now: number): Hindrance => ({
  kind: "silent",
  since: now - ms,
  reason: saying("worker-silent", "silent"),
});

export const atLostJob = ({ forMs, job }: Overrun, now: number): Hindrance => ({
  kind: "overrun",
  since: now - forMs,
  reason: because("at-lost-job", { job }),
});

/** The same worker with what is known of it at this moment, before that is on its record. */
export function asItIsNow(worker: WorkerItem, overrun: Overrun | undefined, now: number): WorkerItem {
  if (!overrun || worker.doc.state !== "READY" || worker.doc.hindrance) return worker;
  return { ...worker, doc: { ...worker.doc, hindrance: atLostJob(overrun, now) } };
}

const STATUS: Record<Hindrance["kind"], WorkerStatus> = {
  overrun: "RUNNING",
  unhealthy: "UNHEALTHY",
  rising: "INITIALIZING",
  silent: "UNHEALTHY",
  lost: "UNHEALTHY",
};

/** How a hindered worker is shown, and why. */
export const shownHindrance = ({ kind, since, reason }: Hindrance, now: number) => ({
  status: STATUS[kind],
  reason: kind === "silent" ? silenceReason(now - since, now) : reason,
});
