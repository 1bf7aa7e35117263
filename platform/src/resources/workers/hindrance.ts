/** What keeps a running worker from taking work. Lists, plans and waiting jobs all use this one answer. */
import type { Overrun } from "../../jobs/overruns.ts";
import { silenceReason } from "../../jobs/silence.ts";
import { because, reworded, saying } from "../../kernel/reason.ts";
import { type SilentSince, silenceOf } from "../../machines/silences.ts";
import type { Hindrance, WorkerState, WorkerStatus } from "./model.ts";
import type { WorkerItem } from "./records.ts";

/** Only a READY worker can be hindered. An older hindrance ends when the worker is frozen, drained or fails. */
export const hindranceOf = ({ doc }: WorkerItem): Hindrance | undefined =>
  (doc.state === "READY" && doc.hindrance) || undefined;

/** The states in which a worker has something on a machine. */
const ON_A_MACHINE: readonly WorkerState[] = ["PLACED", "STARTING", "READY", "FROZEN", "DRAINING"];

/** The hindrance as nodes other than the worker's own see it. While a machine is silent, nobody knows what its workers do. */
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

/** The worker with an overrun that is known now but not yet on its record. */
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

/** The status and the reason that a hindered worker shows. */
export const shownHindrance = ({ kind, since, reason }: Hindrance, now: number) => ({
  status: STATUS[kind],
  reason: kind === "silent" ? silenceReason(now - since, now) : reason,
});
