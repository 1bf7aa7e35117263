/** The warm-up of a new worker: a job that it does before any other. It is in no queue and no list, and no count includes it. */
import { type Job, jobLifecycle } from "../ports/queue/job.ts";
import type { Claimed } from "../ports/queue/queue.ts";
import { workerOf } from "./holder.ts";
import type { Report } from "./report.ts";
import type { Session } from "./sessions.ts";
import type { WorkerCall } from "./worker-events.ts";

/** The part of the fleet that the worker desk needs: it knows which workers are new. */
export interface WarmUps {
  /**
   * Returns the body of the warm-up that this call starts, "wait" while the worker must not get anything, or undefined for a warm worker.
   */
  begin(call: WorkerCall): Promise<string | "wait" | undefined>;
  /** The worker did not get the warm-up or is not running it, so it gets it again. `isSure` means that it was never sent. */
  lose(call: WorkerCall, isSure: boolean): Promise<void>;
  /** The warm-up has ended, in success or failure. */
  end(call: WorkerCall, report: Extract<Report, { kind: "end" }>): Promise<void>;
}

export const nobodyWarmsUp: WarmUps = { begin: async () => undefined, lose: async () => {}, end: async () => {} };

/** No job has such an id, and every worker has its own. */
export const warmUpId = ({ worker }: WorkerCall): string => `warmup-${workerOf(worker)}`;

/** Returns what a worker that is not known to be warm gets before any job. */
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

function warmUpJob(call: WorkerCall, body: string, now: number): Claimed {
  const policy = { ttlMs: 0, executionTimeoutMs: 0, retentionMs: 0, errorRetries: 0, lowPriority: false };
  const times = { createdAt: now, ttlAt: now, queuedAt: now, startedAt: now };
  const counts = { attempt: 1, spent: 1, errorsRetried: 0, retried: 0 };
  const { endpoint, worker: holder } = call;
  const state = jobLifecycle.to("claim");
  const job: Job = { id: warmUpId(call), endpoint, holder, state, policy, ...times, ...counts };
  return { job, body };
}

/** Handles the reports about the warm-up and returns those about jobs. */
export async function reportWarmUp<T extends { id: string; report: Report }>(
  warmUps: WarmUps,
  call: WorkerCall,
  reports: readonly T[],
): Promise<T[]> {
  const id = warmUpId(call);
  for (const one of reports) if (one.id === id && one.report.kind === "end") await warmUps.end(call, one.report);
  return reports.filter((one) => one.id !== id);
}

/** Two pings in a row left out the warm-up. Either an earlier server missed its end, or the worker never got it. */
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
