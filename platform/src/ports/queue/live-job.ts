/** A job in the embedded queue's memory: the record itself plus what the queue must know of it. */
import type { Timed } from "./deadline-heap.ts";
import type { Job, JobPolicy, JobState } from "./job.ts";

/** A class and not a literal, so that a million of them share one compact layout. */
export class LiveJob implements Job, Timed {
  id: string;
  endpoint: string;
  state: JobState;
  policy: JobPolicy;
  createdAt: number;
  ttlAt: number;
  queuedAt: number;
  attempt: number;
  spent: number;
  errorsRetried: number;
  retried: number;
  position: number;
  heapIndex = -1;
  /** Whether it stands in a lane, to be taken: only once its place in the queue is durable. */
  waiting = false;
  /** Writes on their way to the disk. */
  pending = 0;
  /** The body, when it is small and there is room; else it is read from the journal. */
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
  declare webhooks?: string[];
  declare sealed?: true;

  constructor(job: Job, position: number, body: string | undefined) {
    this.id = job.id;
    this.endpoint = job.endpoint;
    this.state = job.state;
    this.policy = job.policy;
    this.createdAt = job.createdAt;
    this.ttlAt = job.ttlAt;
    this.queuedAt = job.queuedAt;
    this.attempt = job.attempt;
    this.spent = job.spent;
    this.errorsRetried = job.errorsRetried;
    this.retried = job.retried;
    this.position = position;
    this.body = body;
    for (const field of RARE) if (job[field] !== undefined) (this as Record<string, unknown>)[field] = job[field];
  }
}

/** Fields that a waiting job does not have, and so takes no room for. */
const RARE = [
  "holder",
  "barred",
  "startedAt",
  "deadline",
  "endedAt",
  "expiresAt",
  "reason",
  "webhooks",
  "sealed",
] as const;

/** A copy that later changes do not reach. */
export function snapshot(live: LiveJob): Job {
  const { id, endpoint, state, policy, createdAt, ttlAt, queuedAt, attempt, spent, errorsRetried, retried } = live;
  const job: Job = { id, endpoint, state, policy, createdAt, ttlAt, queuedAt, attempt, spent, errorsRetried, retried };
  for (const field of RARE)
    if (live[field] !== undefined) (job as unknown as Record<string, unknown>)[field] = live[field];
  return job;
}

/** When something must happen to a live job by itself. */
export function deadlineOf({ ttlAt, deadline }: LiveJob): number {
  return deadline === undefined ? ttlAt : Math.min(ttlAt, deadline);
}

/** A worker boot in the embedded queue's memory. */
export interface Holder {
  endpoint: string;
  until: number;
  jobs: Set<LiveJob>;
}

/** Bodies up to this size are worth keeping in memory, as long as there is room for all of them. */
const KEPT_BODY_LENGTH = 4096;
const KEPT_BODIES_LENGTH = 64 * 1024 * 1024;

/** Decides which bodies stay in memory. */
export class BodyRoom {
  #used = 0;

  /** The body if it may stay. */
  admit(body: unknown): string | undefined {
    if (typeof body !== "string" || body.length > KEPT_BODY_LENGTH) return undefined;
    if (this.#used + body.length > KEPT_BODIES_LENGTH) return undefined;
    this.#used += body.length;
    return body;
  }

  release(live: LiveJob): void {
    if (live.body === undefined) return;
    this.#used -= live.body.length;
    live.body = undefined;
  }

  clear(): void {
    this.#used = 0;
  }
}
