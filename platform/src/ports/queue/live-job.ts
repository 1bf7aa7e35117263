/** A job in the embedded queue's memory: the record itself, and what the queue must know about it. */
import type { ReasonCode } from "../../kernel/reason.ts";
import type { Timed } from "./deadline-heap.ts";
import { type Delivery, type Fare, isLive, type Job, type JobPolicy, jobLifecycle, type LargeOutput } from "./job.ts";

/**
 * Times are kept as distances from the first one ever seen. V8 stores numbers below 2^31 in the object itself, and larger ones as separate
 * objects: a million jobs had three million of those for the garbage collector to visit.
 */
let origin: number | undefined;

/** A class instead of an object literal, so that a million jobs share one compact layout. */
export class LiveJob implements Job, Timed {
  id: string;
  endpoint: string;
  state: Job["state"];
  policy: JobPolicy;
  private created: number;
  private ttlAfter: number;
  private queuedAfter: number;
  attempt: number;
  spent: number;
  errorsRetried: number;
  retried: number;
  position: number;
  heapIndex = -1;
  /** "waiting" once its place in the queue is durable and workers can take it. A job that "left" still has an entry in its lane. */
  lane: "out" | "waiting" | "left" = "out";
  /** How many of its writes are on their way to the disk. */
  pending = 0;
  /** The body, if it is small and there was room. Otherwise it is read from the journal. */
  body: string | undefined;
  /** What readers see while writes are pending: the last durable state, or null before there is one. */
  shown: Job | null | undefined;

  declare holder?: string;
  declare barred?: string;
  declare startedAt?: number;
  declare deadline?: number;
  declare endedAt?: number;
  declare expiresAt?: number;
  declare reason?: string;
  declare reasonCode?: ReasonCode;
  declare error?: string;
  declare large?: LargeOutput;
  declare webhooks?: string[];
  declare sealed?: true;
  declare cursor?: { attempt: number; sequence: number };
  declare deliveries?: Delivery[];
  declare caller?: string;
  declare fare?: Fare;
  declare trace?: string;

  constructor(job: Job, position: number, body: string | undefined) {
    this.id = job.id;
    this.endpoint = job.endpoint;
    this.state = job.state;
    this.policy = job.policy;
    origin ??= job.createdAt;
    this.created = job.createdAt - origin;
    this.ttlAfter = job.ttlAt - job.createdAt;
    this.queuedAfter = job.queuedAt - job.createdAt;
    this.attempt = job.attempt;
    this.spent = job.spent;
    this.errorsRetried = job.errorsRetried;
    this.retried = job.retried;
    this.position = position;
    this.body = body;
    copyOptional(job, this);
  }

  get createdAt(): number {
    return origin! + this.created;
  }

  get ttlAt(): number {
    return this.createdAt + this.ttlAfter;
  }

  set ttlAt(time: number) {
    this.ttlAfter = time - this.createdAt;
  }

  get queuedAt(): number {
    return this.createdAt + this.queuedAfter;
  }

  set queuedAt(time: number) {
    this.queuedAfter = time - this.createdAt;
  }
}

/** The fields are spelled out, since every job passes here three times: a loop over their names costs several times as much. */
function copyOptional(from: Job, to: Job): void {
  if (from.holder !== undefined) to.holder = from.holder;
  if (from.barred !== undefined) to.barred = from.barred;
  if (from.startedAt !== undefined) to.startedAt = from.startedAt;
  if (from.deadline !== undefined) to.deadline = from.deadline;
  if (from.endedAt !== undefined) to.endedAt = from.endedAt;
  if (from.expiresAt !== undefined) to.expiresAt = from.expiresAt;
  if (from.reason !== undefined) to.reason = from.reason;
  if (from.reasonCode !== undefined) to.reasonCode = from.reasonCode;
  if (from.error !== undefined) to.error = from.error;
  if (from.large !== undefined) to.large = from.large;
  if (from.webhooks !== undefined) to.webhooks = from.webhooks;
  if (from.sealed !== undefined) to.sealed = from.sealed;
  if (from.cursor !== undefined) to.cursor = from.cursor;
  if (from.deliveries !== undefined) to.deliveries = from.deliveries;
  if (from.caller !== undefined) to.caller = from.caller;
  if (from.fare !== undefined) to.fare = from.fare;
  if (from.trace !== undefined) to.trace = from.trace;
}

/** Returns a copy that later changes do not affect. */
export function snapshot(live: LiveJob): Job {
  const { id, endpoint, state, policy, createdAt, ttlAt, queuedAt, attempt, spent, errorsRetried, retried } = live;
  const job: Job = { id, endpoint, state, policy, createdAt, ttlAt, queuedAt, attempt, spent, errorsRetried, retried };
  copyOptional(live, job);
  return job;
}

const CLAIMED = jobLifecycle.to("claim");

/** A claim is shown at once, also while an earlier change of the job is under way. */
export function beginAttempt(job: LiveJob, holder: string, now: number): void {
  job.state = CLAIMED;
  job.holder = holder;
  job.barred = undefined;
  job.attempt++;
  job.spent++;
  job.startedAt = now;
  job.deadline = now + job.policy.executionTimeoutMs;
  if (job.shown) job.shown = { ...job.shown, ...claimOf(job) };
}

/** The fields that a claim sets. */
export function claimOf({ state, holder, attempt, spent, startedAt, deadline }: Job): Partial<Job> {
  return { state, holder, barred: undefined, attempt, spent, startedAt, deadline } as Partial<Job>;
}

/** Returns the jobs that run, as they were before changes that are under way. */
export function begunAmong(jobs: Iterable<LiveJob>): Job[] {
  return [...jobs].map((job) => job.shown ?? job).filter(({ state }) => state === CLAIMED);
}

/** Returns the time at which a job times out by itself. One that has ended never does. */
export function deadlineOf(job: LiveJob): number {
  const { state, ttlAt, deadline } = job;
  if (state === "IN_PROGRESS" && deadline !== undefined) return Math.min(ttlAt, deadline);
  return isLive(job) ? ttlAt : Number.POSITIVE_INFINITY;
}

/** Bodies up to this length are kept in memory, as long as all of them together stay below the second limit. */
const KEPT_BODY_LENGTH = 4096;
const KEPT_BODIES_LENGTH = 64 * 1024 * 1024;

/** Decides which bodies stay in memory. */
export class KeptBodies {
  #used = 0;

  /** Returns the body if it may stay in memory. */
  admit(body: unknown): string | undefined {
    if (typeof body !== "string" || body.length > KEPT_BODY_LENGTH) return undefined;
    if (this.#used + body.length > KEPT_BODIES_LENGTH) return undefined;
    this.#used += body.length;
    return body;
  }

  get isOpen(): boolean {
    return this.#used < KEPT_BODIES_LENGTH - KEPT_BODY_LENGTH;
  }

  release(live: LiveJob | undefined): void {
    if (live?.body === undefined) return;
    this.#used -= live.body.length;
    live.body = undefined;
  }

  clear(): void {
    this.#used = 0;
  }
}

/** A million jobs share a handful of policies, so each policy is kept once. */
export class PolicyBook {
  readonly #policies = new Map<string, JobPolicy>();
  #last: JobPolicy | undefined;

  shared(policy: JobPolicy): JobPolicy {
    // It is nearly always the same as the last one, and comparing is faster than looking it up.
    if (!this.#last || !isSame(this.#last, policy)) this.#last = this.#lookUp(policy);
    return this.#last;
  }

  #lookUp(policy: JobPolicy): JobPolicy {
    const key = `${policy.ttlMs} ${policy.executionTimeoutMs} ${policy.retentionMs} ${policy.errorRetries} ${policy.lowPriority}`;
    const known = this.#policies.get(key);
    if (known) return known;
    if (this.#policies.size > 10_000) this.#policies.clear();
    this.#policies.set(key, policy);
    return policy;
  }
}

function isSame(a: JobPolicy, b: JobPolicy): boolean {
  return (
    a.ttlMs === b.ttlMs &&
    a.executionTimeoutMs === b.executionTimeoutMs &&
    a.retentionMs === b.retentionMs &&
    a.errorRetries === b.errorRetries &&
    a.lowPriority === b.lowPriority
  );
}
