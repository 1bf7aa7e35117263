/** The warm-up of a new worker: one job of its own before any other, which is in no queue and no list and counts nowhere. */
import { type Job, jobLifecycle } from "../ports/queue/job.ts";
import type { Claimed } from "../ports/queue/queue.ts";
import { workerOf } from "./holder.ts";
import type { Report } from "./report.ts";
import type { Session } from "./sessions.ts";
import type { WorkerCall } from "./worker-events.ts";

/** The fleet, as far as the desk needs it: it knows which workers are new. */
export interface WarmUps {
  /** The body of what this worker must do first, begun by this call; "wait" while it must not have anything; undefined for a warm one. */
  begin(call: WorkerCall): Promise<string | "wait" | undefined>;
  /** It never got it, or is not at it: it gets it once more. `isSure` when it was never sent. */
  lose(call: WorkerCall, isSure: boolean): Promise<void>;
  /** It is over, well or not. */
  end(call: WorkerCall, report: Extract<Report, { kind: "end" }>): Promise<void>;
}

export const nobodyWarmsUp: WarmUps = { begin: async () => undefined, lose: async () => {}, end: async () => {} };

/** No job is called so, and no two workers do it under the same name. */
export const warmUpId = ({ worker }: WorkerCall): string => `warmup-${workerOf(worker)}`;

/** What a worker that is not known to be warm gets before any job. */
export async function beginWarmUp(
  warmUps: WarmUps,
  call: WorkerCall,
  session: Session,
  now: number,
): Promise<Claimed | "wait" | undefined> {
  const body = await warmUps.begin(call);
  if (body === "wait") return "wait";
  session.isWarm = body === undefined;
  session.warmUpOmitted = 0;
  return body === undefined ? undefined : warmUpJob(call, body, now);
}

/** As its worker gets it. */
function warmUpJob(call: WorkerCall, body: string, now: number): Claimed {
  const policy = { ttlMs: 0, executionTimeoutMs: 0, retentionMs: 0, errorRetries: 0, lowPriority: false };
  const times = { createdAt: now, ttlAt: now, queuedAt: now, startedAt: now };
  const counts = { attempt: 1, spent: 1, errorsRetried: 0, retried: 0 };
  const { endpoint, worker: holder } = call;
  const state = jobLifecycle.to("claim");
  const job: Job = { id: warmUpId(call), endpoint, holder, state, policy, ...times, ...counts };
  return { job, body };
}

/** Takes reports of the warm-up out of those that are about jobs. */
export async function reportWarmUp<T extends { id: string; report: Report }>(
  warmUps: WarmUps,
  call: WorkerCall,
  reports: readonly T[],
): Promise<T[]> {
  const id = warmUpId(call);
  for (const one of reports) if (one.id === id && one.report.kind === "end") await warmUps.end(call, one.report);
  return reports.filter((one) => one.id !== id);
}

/** Two pings in a row without the warm-up: a server before this one may have missed its end, or its worker never got it. */
export async function noticeWarmUp(
  warmUps: WarmUps,
  call: WorkerCall,
  session: Session,
  listed: ReadonlySet<string>,
): Promise<void> {
  if (session.isWarm) return;
  session.warmUpOmitted = listed.has(warmUpId(call)) ? 0 : session.warmUpOmitted + 1;
  if (session.warmUpOmitted < 2) return;
  session.warmUpOmitted = 0;
  await warmUps.lose(call, false);
}
