/** What keeps a worker that runs from taking work: one answer for lists, plans and jobs that wait. */
import type { Overrun } from "../../jobs/overruns.ts";
import { silenceText } from "../../jobs/silence.ts";
import type { Hindrance, WorkerStatus } from "./model.ts";
import type { WorkerItem } from "./records.ts";

/** What hindered a worker before it was frozen, drained or failed is over. */
export const hindranceOf = ({ doc }: WorkerItem): Hindrance | undefined =>
  (doc.state === "READY" && doc.hindrance) || undefined;

export const silence = (ms: number, now: number): Hindrance => ({ kind: "silent", since: now - ms, reason: "silent" });

export const atLostJob = ({ forMs, job }: Overrun, now: number): Hindrance => ({
  kind: "overrun",
  since: now - forMs,
  reason: `still busy with ${job}`,
});

const STATUS: Record<Hindrance["kind"], WorkerStatus> = {
  overrun: "RUNNING",
  unhealthy: "UNHEALTHY",
  rising: "INITIALIZING",
  silent: "UNHEALTHY",
};

/** How a hindered worker is shown, and why. */
export const shownHindrance = ({ kind, since, reason }: Hindrance, now: number) => ({
  status: STATUS[kind],
  reason: kind === "silent" ? silenceText(now - since, now) : reason,
});
