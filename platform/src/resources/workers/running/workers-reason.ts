/** Why a job waits, as far as workers are the reason, from the records of an endpoint's workers. */
import { silentWorkers } from "../../../jobs/silence.ts";
import { because, isStartReason, type Reason, reworded, saying, together } from "../../../kernel/reason.ts";
import { countOf } from "../../../kernel/reasons/workers.ts";
import type { SilentSince } from "../../../machines/silences.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import { hindranceFrom } from "../hindrance.ts";
import { brakeOf } from "./brake.ts";
import { failuresOf, type WorkerItem } from "./plan.ts";

export interface WaitFacts {
  endpoint: Pick<KeptEndpoint, "workers" | "release">;
  workers: readonly WorkerItem[];
  /** The workers that were heard of lately and that nothing hinders, and how many of them have a job. */
  live: number;
  busy: number;
  /** The progress of the image that a worker waits for. */
  progressOf: (worker: string) => Reason | undefined;
  silentSince: SilentSince;
  /** Only jobs that start no workers wait. */
  onlyLowPriority: boolean;
  /** How many of the workers without a job talk to another node, which alone knows what they are doing. */
  unknown?: number;
  /** Why no worker is started at all. */
  refusal?: Reason | undefined;
  now: number;
}

/** Undefined if the workers are not the reason, or if nothing is known of them. */
export function workersReason(facts: WaitFacts): Reason | undefined {
  const { live, busy, endpoint } = facts;
  if (live > busy) return whoCouldTakeIt(facts);
  if (live === 0) return whyNone(facts);
  const all = because("workers-busy", { workers: live, max: endpoint.workers.max });
  return joined([all, whoIsHindered(facts), whyNotMore(facts)]);
}

/** The queue counts all workers that were heard of, and reports that itself unless one of them is held up. */
function whoCouldTakeIt(facts: WaitFacts): Reason | undefined {
  const { workers, live, busy, silentSince, unknown = 0 } = facts;
  if (!workers.some((worker) => isHeldUp(worker, silentSince))) return undefined;
  return joined([because("waits-for-ask", { idle: live - busy, unknown }), whoIsHindered(facts)]);
}

/** The worker may be heard of but gets no work: not yet, not now, or never again. */
export const isHeldUp = (worker: WorkerItem, silentSince: SilentSince) =>
  ["PLACED", "STARTING", "DRAINING"].includes(worker.doc.state) || hindranceFrom(worker, silentSince) !== undefined;

function whyNone(facts: WaitFacts): Reason | undefined {
  const { endpoint, workers, onlyLowPriority } = facts;
  if (endpoint.workers.max === 0) return because("paused");
  const known = joined([whoIsHindered(facts), whyNotMore(facts)]);
  if (known !== undefined) return known;
  const ending = workers.filter(({ doc }) => doc.state === "DRAINING");
  if (ending.length >= endpoint.workers.max) return whoEnds(facts, ending);
  return onlyLowPriority ? because("low-priority") : undefined;
}

/** Names the ending workers whose places new workers need. */
function whoEnds({ endpoint }: WaitFacts, ending: readonly WorkerItem[]): Reason | undefined {
  const [stale, replaced] = [
    ending.filter(({ doc }) => doc.release !== endpoint.release),
    ending.filter(({ doc }) => doc.release === endpoint.release),
  ];
  const older = stale.length > 0 && because("older-release-busy", { workers: stale.length, max: ending.length });
  const reasons = counted(replaced.map(({ doc }) => doc.reason ?? saying("unwanted", "no longer needed")));
  return joined([
    older || undefined,
    ...reasons.map(([reason, workers]) => because("being-replaced", { workers, cause: reason.code }, reason)),
  ]);
}

function whoIsHindered({ workers, now, silentSince }: WaitFacts): Reason | undefined {
  const hindered = workers.map((worker) => hindranceFrom(worker, silentSince)).filter((one) => one !== undefined);
  const silent = hindered.filter(({ kind }) => kind === "silent").map(({ since }) => now - since);
  const others = counted(hindered.filter(({ kind }) => kind !== "silent").map(({ reason }) => reason));
  return joined([
    ...others.map(([reason, workers]) => reworded(reason, (text) => `${countOf(workers)} ${text}`)),
    silentWorkers(silent, now),
  ]);
}

/** Each reason once, with the number of workers that have it. */
function counted(reasons: readonly Reason[]): [Reason, number][] {
  return [...Map.groupBy(reasons, ({ text }) => text).values()].map((same) => [same[0]!, same.length]);
}

/** Joins sentences. The last one decides the code, because what keeps more workers from starting can be changed. */
function joined(parts: readonly (Reason | undefined)[]): Reason | undefined {
  const said = parts.filter((part) => part !== undefined);
  return said.length === 0 ? undefined : together(said, said.at(-1)!);
}

function whyNotMore(facts: WaitFacts): Reason | undefined {
  const workers = facts.workers.filter(({ doc }) => doc.release === facts.endpoint.release);
  return (
    failureIn(workers) ??
    startIn(facts, workers) ??
    facts.refusal ??
    workers.find(({ doc }) => doc.state === "WANTED")?.doc.reason ??
    undefined
  );
}

function failureIn(workers: readonly WorkerItem[]): Reason | undefined {
  const brake = brakeOf(failuresOf(workers));
  if (!brake) return undefined;
  const { reason, failures } = brake;
  // The program never ran, so it cannot have failed.
  if (isStartReason(reason)) return reason;
  return failures > 1
    ? because("crash-loop", { cause: reason.code, failures }, reason)
    : because("worker-failed", { cause: reason.code }, reason);
}

function startIn({ progressOf, now, silentSince }: WaitFacts, workers: readonly WorkerItem[]): Reason | undefined {
  const starting = workers
    .filter(({ doc }) => doc.state === "PLACED" || doc.state === "STARTING")
    .filter(({ doc }) => silentSince(doc.machine) === undefined);
  if (starting.length === 0) return undefined;
  const first = starting.reduce((oldest, next) => (next.createdAt < oldest.createdAt ? next : oldest));
  const progress = first.doc.state === "PLACED" ? progressOf(first.id) : undefined;
  if (progress !== undefined) return progress;
  if (first.doc.state === "PLACED" && first.doc.reason !== null) return first.doc.reason;
  const warming = starting.find(({ doc }) => doc.warmUp)?.doc.warmUp;
  const secondsSince = (since: number) => ({ seconds: Math.max(0, Math.round((now - since) / 1000)) });
  if (warming) return because("worker-warming-up", secondsSince(warming.since));
  return because("worker-starting", secondsSince(first.createdAt));
}
