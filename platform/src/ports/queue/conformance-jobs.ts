/** Jobs, changes and requests for the queue's conformance suite. */
import { type JobPolicy, jobLifecycle, type NewJob, type Payload } from "./job.ts";
import type { Ask, Claimed, JobChange, Outcome, Outgoing, OutgoingAsk, Queue, Reading } from "./queue.ts";

/** The creation time of every job in the suite, unless a case sets another. */
export const NOW = 1_750_000_000_000;
export const ENDPOINT = "ep";
/** A limit on the bytes of claimed bodies that is never reached, for cases about other things. */
export const ANY = 1024 * 1024 * 1024;

/** A queue opened for one test. Disposing of it also removes its data. */
export interface OpenedQueue extends AsyncDisposable {
  queue: Queue;
  /** Lets time pass for holders of jobs. The time of day comes with each call. */
  elapse(ms: number): Promise<void>;
  /** Closes the queue and opens it again on the same data, or says why this adapter cannot. */
  reopen: (() => Promise<Queue>) | { cannot: string };
  /** Opens another queue on the same data, as a second node would, or says why this adapter cannot. */
  another: (() => Promise<Queue>) | { cannot: string };
}

export type OpenQueue = () => Promise<OpenedQueue>;

export const policy: JobPolicy = {
  ttlMs: 86_400_000,
  executionTimeoutMs: 600_000,
  retentionMs: 1_800_000,
  errorRetries: 0,
  lowPriority: false,
};

type JobOptions = Partial<Omit<NewJob, "policy" | "id">> & { policy?: Partial<JobPolicy> };

export function newJob(id: string, options: JobOptions = {}): NewJob {
  const given = { ...options, policy: { ...policy, ...options.policy } };
  return { id, endpoint: ENDPOINT, createdAt: NOW, body: `{"input":{"of":"${id}"}}`, ...given };
}

export function lowPriority(id: string): NewJob {
  return newJob(id, { policy: { lowPriority: true } });
}

export async function enqueue(queue: Queue, ...ids: string[]): Promise<void> {
  await queue.enqueue(ids.map((id) => newJob(id)));
}

export function numbered(count: number, prefix = "j"): string[] {
  const width = String(count).length;
  return Array.from({ length: count }, (_, i) => `${prefix}${String(i).padStart(width, "0")}`);
}

export function claim(queue: Queue, ask: Partial<Ask> = {}): Promise<Claimed[]> {
  return queue.claim({ endpoint: ENDPOINT, holder: "w1", limit: 1, bytes: ANY, now: NOW, ...ask });
}

/** Claims jobs and returns only their ids. */
export async function claimIds(queue: Queue, ask: Partial<Ask> = {}): Promise<string[]> {
  return (await claim(queue, { limit: 1_000_000, ...ask })).map(({ job }) => job.id);
}

/** Returns the due messages of the suite's endpoint's jobs without a caller, one for each target. */
export async function outgoing(queue: Queue, now: number, ask: Partial<OutgoingAsk> = {}): Promise<Outgoing[]> {
  return (await queue.outgoing({ endpoint: ENDPOINT, caller: "", now, limit: 99, except: [], ...ask })).messages;
}

/** Returns who has due messages: the endpoint, followed by the caller if there is one. */
export async function tellers(queue: Queue, now: number): Promise<string[]> {
  const page = await queue.tellers({ now, limit: 1000 });
  return page.tellers.map(({ endpoint, caller }) => (caller === "" ? endpoint : `${endpoint} ${caller}`));
}

/** Enqueues one job and claims it. */
export async function running(queue: Queue, job: NewJob, holder = "w1"): Promise<void> {
  await queue.enqueue([job]);
  const [claimed] = await claim(queue, { holder, endpoint: job.endpoint });
  if (claimed?.job.id !== job.id) throw new Error(`${claimed?.job.id} was claimed instead of ${job.id}`);
}

type Options = Partial<Omit<JobChange, "id">>;

export function finish(id: string, options: Options = {}): JobChange {
  return {
    id,
    when: { states: ["IN_PROGRESS"] },
    result: `{"output":"of ${id}"}`,
    progress: null,
    ...options,
    set: { state: jobLifecycle.to("complete"), endedAt: NOW, expiresAt: NOW + policy.retentionMs, ...options.set },
    clear: ["deadline"],
  };
}

export function giveBack(id: string, options: Options = {}): JobChange {
  return {
    id,
    when: { states: ["IN_PROGRESS"] },
    ...options,
    set: { state: jobLifecycle.to("giveBack"), queuedAt: NOW, ...options.set },
    clear: ["holder", "startedAt", "deadline"],
  };
}

export function cancel(id: string, options: Options = {}): JobChange {
  return {
    id,
    when: { states: ["IN_QUEUE", "IN_PROGRESS"] },
    ...options,
    set: { state: jobLifecycle.to("cancel"), endedAt: NOW, expiresAt: NOW + policy.retentionMs, ...options.set },
  };
}

export function fail(id: string, options: Options = {}): JobChange {
  return finish(id, {
    result: `{"error":"of ${id}"}`,
    ...options,
    set: { state: jobLifecycle.to("fail"), ...options.set },
  });
}

export function retry(id: string, options: Options = {}): JobChange {
  return {
    id,
    when: { states: ["FAILED", "TIMED_OUT"] },
    result: null,
    progress: null,
    place: "back",
    ...options,
    set: { state: jobLifecycle.to("retry"), queuedAt: NOW, spent: 0, ...options.set },
    clear: ["holder", "startedAt", "deadline", "endedAt", "expiresAt", "reason"],
    also: { dropChunks: true, ...options.also },
  };
}

/** Applies changes that must all apply. */
export async function apply(queue: Queue, ...changes: JobChange[]): Promise<void> {
  const outcomes = await queue.apply(changes);
  const refused = outcomes.findIndex(({ applied }) => !applied);
  if (refused >= 0) throw new Error(`refused: ${JSON.stringify([changes[refused], outcomes[refused]])}`);
}

export async function applyOne(queue: Queue, change: JobChange): Promise<Outcome> {
  return (await queue.apply([change]))[0]!;
}

/** Returns the reading of a job that must exist. */
export async function reading(queue: Queue, id: string, now = NOW): Promise<Reading> {
  const found = await queue.read(id, now, ["body", "result", "progress"]);
  if (found === undefined || found === "purged") throw new Error(`${id} is ${found}`);
  return found;
}

export function text(payload: Payload | undefined): string | undefined {
  return payload instanceof Uint8Array ? Buffer.from(payload).toString() : payload;
}
