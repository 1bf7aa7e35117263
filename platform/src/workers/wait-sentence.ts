/** Why a job waits, as far as workers are the reason: one sentence from the records of an endpoint's workers. */
import { silentWorkers } from "../jobs/silence.ts";
import { oneOfIdle } from "../jobs/wait-reason.ts";
import type { Reason } from "../kernel/reason.ts";
import type { SilentSince } from "../machines/silences.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import { hindranceFrom } from "../resources/workers/hindrance.ts";
import { brakeOf } from "./brake.ts";
import { failuresOf, type WorkerItem } from "./plan.ts";

export interface WaitFacts {
  endpoint: Pick<KeptEndpoint, "workers" | "release">;
  workers: readonly WorkerItem[];
  /** Workers that were heard of lately and that nothing keeps from taking work, and how many of them have a job. */
  live: number;
  busy: number;
  /** How far an image is on its way to the machine of a worker. */
  progressOf: (worker: string) => Reason | undefined;
  silentSince: SilentSince;
  /** Only jobs wait that start no workers. */
  onlyLowPriority: boolean;
  /** Why no worker is started for anybody. */
  refusal?: string | undefined;
  now: number;
}

/** Undefined when the workers are not the reason, or nothing is known of them. */
export function waitSentence(facts: WaitFacts): string | undefined {
  const { live, busy, endpoint } = facts;
  if (live > busy) return whoCouldTakeIt(facts);
  if (live === 0) return whyNone(facts);
  const all = `${live === 1 ? "the only worker is" : `all ${live} workers`} busy (max ${endpoint.workers.max})`;
  return joined([all, whoIsHindered(facts), whyNotMore(facts)]);
}

/** The queue counts all that were heard of: it is left to say so while nobody among them is held up. */
function whoCouldTakeIt(facts: WaitFacts): string | undefined {
  const { workers, live, busy, silentSince } = facts;
  if (!workers.some((worker) => isHeldUp(worker, silentSince))) return undefined;
  return joined([`waiting for ${oneOfIdle(live - busy)} to ask for it`, whoIsHindered(facts)]);
}

/** It may have been heard of, and gets no work: not yet, not now or never more. */
export const isHeldUp = (worker: WorkerItem, silentSince: SilentSince) =>
  ["PLACED", "STARTING", "DRAINING"].includes(worker.doc.state) || hindranceFrom(worker, silentSince) !== undefined;

function whyNone(facts: WaitFacts): string | undefined {
  const { endpoint, workers, onlyLowPriority } = facts;
  if (endpoint.workers.max === 0) return "paused: max workers is 0";
  const known = joined([whoIsHindered(facts), whyNotMore(facts)]);
  if (known !== undefined) return known;
  const ending = workers.filter(({ doc }) => doc.state === "DRAINING");
  if (ending.length >= endpoint.workers.max) return whoEnds(facts, ending);
  return onlyLowPriority ? "low priority: it waits for a worker that another job starts" : undefined;
}

/** Workers that take the places of those that could be started. */
function whoEnds({ endpoint }: WaitFacts, ending: readonly WorkerItem[]): string | undefined {
  const [stale, replaced] = [
    ending.filter(({ doc }) => doc.release !== endpoint.release),
    ending.filter(({ doc }) => doc.release === endpoint.release),
  ];
  const ofOlder = stale.length > 0 && `${count(stale.length)} of an older release still busy (max ${ending.length})`;
  const reasons = countedBy(replaced, ({ doc }) => doc.reason ?? "no longer needed");
  return joined([
    ofOlder || undefined,
    ...reasons.map(([reason, n]) => `${count(n)} ${n === 1 ? "is" : "are"} being replaced (${reason})`),
  ]);
}

function whoIsHindered({ workers, now, silentSince }: WaitFacts): string | undefined {
  const hindered = workers.map((worker) => hindranceFrom(worker, silentSince)).filter((one) => one !== undefined);
  const silent = hindered.filter(({ kind }) => kind === "silent").map(({ since }) => now - since);
  const others = hindered.filter(({ kind }) => kind !== "silent");
  const reasons = countedBy(others, ({ reason }) => reason);
  return joined([...reasons.map(([reason, n]) => `${count(n)} ${reason}`), silentWorkers(silent, now)]);
}

function countedBy<T>(those: readonly T[], reasonOf: (one: T) => string): [string, number][] {
  return [...Map.groupBy(those, reasonOf)].map(([reason, some]) => [reason, some.length]);
}

function joined(sentences: readonly (string | undefined)[]): string | undefined {
  const said = sentences.filter((sentence) => sentence !== undefined);
  return said.length === 0 ? undefined : said.join("; ");
}

function whyNotMore(facts: WaitFacts): string | undefined {
  const workers = facts.workers.filter(({ doc }) => doc.release === facts.endpoint.release);
  return (
    failureIn(workers) ??
    startIn(facts, workers) ??
    facts.refusal ??
    workers.find(({ doc }) => doc.state === "WANTED")?.doc.reason ??
    undefined
  );
}

function failureIn(workers: readonly WorkerItem[]): string | undefined {
  const brake = brakeOf(failuresOf(workers));
  if (!brake) return undefined;
  if (brake.reason.startsWith(BOOT_FAILED)) return brake.reason;
  return brake.failures > 1 ? `crash loop: ${brake.reason}` : `worker failed: ${brake.reason}`;
}

/** How a reason begins when there never was a program that could have failed. */
export const BOOT_FAILED = "boot failed: ";

function startIn({ progressOf, now, silentSince }: WaitFacts, workers: readonly WorkerItem[]): string | undefined {
  const starting = workers
    .filter(({ doc }) => doc.state === "PLACED" || doc.state === "STARTING")
    .filter(({ doc }) => silentSince(doc.machine) === undefined);
  if (starting.length === 0) return undefined;
  const first = starting.reduce((oldest, next) => (next.createdAt < oldest.createdAt ? next : oldest));
  const progress = first.doc.state === "PLACED" ? progressOf(first.id) : undefined;
  if (progress !== undefined) return progress.text;
  if (first.doc.state === "PLACED" && first.doc.reason !== null) return first.doc.reason;
  const warming = starting.find(({ doc }) => doc.warmUp)?.doc.warmUp;
  if (warming) return `worker warming up (${Math.max(0, Math.round((now - warming.since) / 1000))} s)`;
  return `worker starting (${Math.max(0, Math.round((now - first.createdAt) / 1000))} s)`;
}

const count = (workers: number) => `${workers} ${workers === 1 ? "worker" : "workers"}`;
