/** What happened to a job, as one list in order: submitted, waited and for what, taken, progress, chunks, ended, told. */
import type { Details, Job } from "./jobs-api.ts";

export interface Moment {
  kind: "submitted" | "returned" | "waiting" | "taken" | "progress" | "chunks" | "ended" | "told" | "kept";
  title: string;
  at?: number;
  /** How long it took or has taken. */
  ms?: number;
  /** The sentence of the server, and its code. */
  text?: string;
  code?: string;
  worker?: string;
  tone: "good" | "wait" | "bad" | "accent" | "idle";
}

interface Facts {
  job: Job;
  details: Details;
  /** How many chunks its stream has so far. */
  chunks: number;
  now: number;
}

const ENDS: Record<string, [title: string, tone: Moment["tone"]]> = {
  COMPLETED: ["Completed", "good"],
  FAILED: ["Failed", "bad"],
  TIMED_OUT: ["Timed out", "bad"],
  CANCELLED: ["Cancelled", "idle"],
};

export function timelineOf({ job, details, chunks, now }: Facts): Moment[] {
  const created = Date.parse(details.createdAt);
  const queued = Date.parse(details.queuedAt);
  const started = details.startedAt === undefined ? undefined : Date.parse(details.startedAt);
  const ended = details.completedAt === undefined ? undefined : Date.parse(details.completedAt);
  const moments: Moment[] = [{ kind: "submitted", title: "Submitted", at: created, tone: "idle" }];
  if (queued > created) moments.push(returned(details, queued));
  const isWaiting = job.status === "IN_QUEUE";
  // A job that returned to the queue shows when its last run began, which is before it waited this time.
  const isTaken = started !== undefined && started >= queued && !isWaiting;
  if (isTaken) {
    moments.push({ kind: "waiting", title: "Waited", at: queued, ms: started - queued, tone: "idle" });
    moments.push({
      kind: "taken",
      title: details.attempts > 1 ? `Run ${details.attempts} began` : "Taken by a worker",
      at: started,
      tone: "accent",
      ...(job.workerId !== undefined && { worker: job.workerId }),
    });
  } else if (isWaiting) {
    moments.push({
      kind: "waiting",
      title: "Waits",
      at: queued,
      ms: Math.max(0, now - queued),
      tone: "wait",
      ...(job.waitReason !== undefined && { text: job.waitReason }),
      ...(job.waitReasonCode !== undefined && { code: job.waitReasonCode }),
    });
  }
  if (isTaken && ended === undefined) {
    const title = job.output === undefined ? "Runs" : "Runs, with progress";
    moments.push({ kind: "progress", title, ms: Math.max(0, now - started), tone: "accent" });
  }
  if (chunks > 0) {
    const title = `${chunks} ${chunks === 1 ? "chunk" : "chunks"} streamed`;
    moments.push({ kind: "chunks", title, tone: "accent" });
  }
  if (ended !== undefined) moments.push(end(job, ended, isTaken ? started : queued, isTaken));
  for (const delivery of job.webhookDeliveries ?? []) moments.push(told(delivery));
  if (details.keptUntil !== undefined && Date.parse(details.keptUntil) > now) {
    moments.push({ kind: "kept", title: "The result is kept until", at: Date.parse(details.keptUntil), tone: "idle" });
  }
  return moments;
}

function returned({ lastLoss, retries = 0 }: Details, at: number): Moment {
  return {
    kind: "returned",
    title: retries > 0 ? "Back in the queue for another run" : "Back in the queue",
    at,
    tone: "wait",
    ...(lastLoss !== undefined && { text: lastLoss }),
  };
}

function end(job: Job, at: number, since: number, hasRun: boolean): Moment {
  const [title, tone] = ENDS[job.status] ?? [job.status, "idle"];
  return {
    kind: "ended",
    title: hasRun ? title : `${title} before it ran`,
    at,
    ms: Math.max(0, at - since),
    tone,
    ...(job.error !== undefined && { text: shortError(job.error) }),
    ...(job.errorCode !== undefined && { code: job.errorCode }),
  };
}

type Delivery = NonNullable<Job["webhookDeliveries"]>[number];

function told({ url, at, status, error }: Delivery): Moment {
  const isTaken = status !== undefined && status >= 200 && status < 300;
  return {
    kind: "told",
    title: isTaken ? "Webhook delivered" : "Webhook not delivered",
    at: Date.parse(at),
    tone: isTaken ? "good" : "bad",
    text: `${url}: ${status ?? error ?? "no answer"}`,
  };
}

/** Workers of public libraries send their error as JSON text with a traceback in it. */
export function errorText(error: unknown): string {
  if (typeof error !== "string") return JSON.stringify(error, null, 2);
  try {
    const said = JSON.parse(error) as Record<string, unknown>;
    const { error_message: message, error_traceback: trace } = said;
    if (typeof trace === "string") return trace.trim();
    return typeof message === "string" ? message : error;
  } catch {
    return error;
  }
}

/** One line of it: the message, which is the last line of a traceback in Python and the first one elsewhere. */
export function shortError(error: unknown): string {
  const lines = errorText(error).trim().split("\n");
  return (lines[0]!.startsWith("Traceback") ? lines.at(-1) : lines[0])!.trim();
}
