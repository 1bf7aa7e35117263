/** Parts of the embedded queue's decisions that keep no state of their own. */
import { storable, storableJson } from "../../kernel/storable.ts";
import { type Charge, type Job, type JobPolicy, jobLifecycle, type NewJob, type Payload } from "./job.ts";
import { type Entry, isLarge, type Journal, type Stashed, toRow, type Written } from "./journal.ts";
import { claimOf, type LiveJob, snapshot } from "./live-job.ts";
import { targetOf } from "./outgoing.ts";
import type { Counter, JobChange } from "./queue.ts";

export type NewStashedJob = Omit<NewJob, "body"> & { body: Stashed };
export type StashedChange = Omit<JobChange, "result"> & { result?: Stashed | null };

type Count = Partial<Record<Counter, number>>;

/** What one call decided: the entries to write, and the jobs that wait for them. */
export class Decision {
  readonly #entries: Entry[] = [];
  /** Created when needed: most calls submit jobs, which change no counters. */
  #counts: Map<string, Count> | undefined;
  readonly touched: LiveJob[] = [];
  /** The touched jobs as each change left them. They are shown once durable, even if later changes are under way. */
  readonly made: Job[] = [];
  /** True when the answer depends on another call's write that is still under way. */
  waits = false;
  /** Jobs that returned durably and cannot be taken before a later change of them is written too. */
  hidden: LiveJob[] | undefined;

  hide(job: LiveJob): void {
    this.hidden ??= [];
    this.hidden.push(job);
  }

  insert(job: LiveJob, made: Job, body: Stashed, key: { scoped: string; digest: string } | undefined): void {
    this.#entries.push({ do: "insert", row: toRow(job, job.position), body, key });
    this.made.push(made);
  }

  update(change: StashedChange, job: LiveJob): Job {
    const { result, progress, also } = change;
    const row = toRow(job, job.position);
    this.#entries.push({ do: "update", row, result, progress, dropChunks: also?.dropChunks, output: outputOf(change) });
    if (also?.count) this.#count(job.endpoint, also.count);
    if (also?.charge && job.caller !== undefined && job.fare) this.#charge(job, also.charge);
    if (also?.webhook) for (const url of job.webhooks ?? []) this.#entries.push(messageOf(job, url));
    const made = snapshot(job);
    this.made.push(made);
    return made;
  }

  #charge({ caller, endpoint, fare }: LiveJob, charge: Charge): void {
    const { share, key } = fare!;
    this.#entries.push({ do: "charge", charges: { caller: caller!, endpoint, share, key, ...charge } });
  }

  /** Whether something must be written or awaited before the call may return. */
  get isPending(): boolean {
    return this.#entries.length > 0 || this.waits;
  }

  /** Counts of one call are added up, so there is one write per endpoint instead of one per job. */
  get entries(): Entry[] {
    if (!this.#counts) return this.#entries;
    const counts = [...this.#counts].map(([endpoint, count]): Entry => ({ do: "count", endpoint, count }));
    return [...this.#entries, ...counts];
  }

  #count(endpoint: string, count: Count): void {
    this.#counts ??= new Map();
    const sum = this.#counts.get(endpoint) ?? {};
    for (const name of Object.keys(count) as Counter[]) sum[name] = (sum[name] ?? 0) + count[name]!;
    this.#counts.set(endpoint, sum);
  }
}

function outputOf({ set, clear }: StashedChange): string | null | undefined {
  return set.large?.key ?? (clear?.includes("large") ? null : undefined);
}

function messageOf({ id, endpoint, caller = "", endedAt }: LiveJob, url: string): Entry {
  const message = { job: id, endpoint, caller, url, target: targetOf(url), tries: 0, dueAt: endedAt ?? 0 };
  return { do: "message", message };
}

/** Returns a job as a change left it that is durable now, with the claim that came after that change and was shown already. */
export function withClaim(made: Job, shown: Job | null): Job {
  const isLater = shown !== null && shown.attempt > made.attempt && shown.retried === made.retried;
  return isLater && made.state === "IN_QUEUE" && shown.state === "IN_PROGRESS" ? { ...made, ...claimOf(shown) } : made;
}

/** Whether a job that durably returned to the queue still waits there, although another change is under way. */
export function waitsAs(job: LiveJob, made: Job): boolean {
  const isSameReturn = made.attempt === job.attempt && made.retried === job.retried;
  return made.state === "IN_QUEUE" && job.state === "IN_QUEUE" && isSameReturn;
}

/**
 * Waits until workers can take jobs that returned. A job that left its lane without being taken has an entry there still, and gets a new
 * one once no change of it is under way. Whoever returned it calls a worker after this, and nobody would call one later.
 */
export async function untilShown(
  hidden: readonly LiveJob[],
  journal: Pick<Journal, "write">,
  live: ReadonlyMap<string, LiveJob>,
): Promise<void> {
  const isHidden = (job: LiveJob) => job.pending > 0 && job.state === "IN_QUEUE" && live.get(job.id) === job;
  try {
    while (hidden.some(isHidden)) await journal.write([]);
  } catch {
    // The return itself is durable. The write that failed tells those whose change it was.
  }
}

/**
 * Whether the shown job fits the parts read from disk. The disk may be a little ahead of what is shown, or behind it just after a claim.
 */
export function isOfMoment({ row: { state } }: Written, shown: Job | undefined): shown is Job {
  return shown !== undefined && (shown.state === state || (shown.state === "IN_PROGRESS" && state === "IN_QUEUE"));
}

const QUEUED = jobLifecycle.begin("IN_QUEUE");

/** Returns a job as it is right after it was accepted. */
export function waitingJob(
  { id, createdAt, webhooks, sealed, caller, fare, trace }: Omit<NewJob, "body">,
  endpoint: string,
  policy: JobPolicy,
): Job {
  const job: Job = {
    id,
    endpoint,
    state: QUEUED,
    policy,
    createdAt,
    ttlAt: createdAt + policy.ttlMs,
    queuedAt: createdAt,
    attempt: 0,
    spent: 0,
    errorsRetried: 0,
    retried: 0,
  };
  if (webhooks) job.webhooks = webhooks;
  if (sealed) job.sealed = sealed;
  if (caller !== undefined) job.caller = caller;
  if (fare) job.fare = fare;
  if (trace !== undefined) job.trace = trace;
  return job;
}

export const scoped = (endpoint: string, key: string) => JSON.stringify([endpoint, key]);

/** Checked first, since a call without large payloads is decided in the same turn in which it was made. */
export function hasLarge(given: readonly (NewJob | JobChange)[]): boolean {
  return given.some((one) => isLarge("body" in one ? one.body : one.result));
}

/** Large payloads are written to disk before anything is decided, so that no other call waits behind them. */
export async function stashBodies(journal: Journal, jobs: NewJob[]): Promise<NewStashedJob[]> {
  return Promise.all(jobs.map(async (job) => ({ ...job, body: await stash(journal, job.body) })));
}

export async function stashResults(journal: Journal, changes: JobChange[]): Promise<StashedChange[]> {
  const stashed = async ({ result, ...change }: JobChange): Promise<StashedChange> =>
    result === undefined || result === null
      ? { ...change, result }
      : { ...change, result: await stash(journal, result) };
  return Promise.all(changes.map(stashed));
}

async function stash(journal: Journal, payload: Payload): Promise<Stashed> {
  return isLarge(payload) ? journal.stash(payload) : (payload as string);
}

/** Removes the files of large payloads that nothing came to refer to. */
export async function discard(
  journal: Journal,
  stashed: readonly (NewStashedJob | StashedChange)[],
  isUnused: (place: number) => boolean = () => true,
): Promise<void> {
  const unused = stashed.filter((_, place) => isUnused(place));
  const brought = unused.map((one) => ("body" in one ? one.body : one.result));
  const files = brought.filter((stashed) => typeof stashed === "object" && stashed !== null);
  if (files.length > 0) await journal.discard(files);
}

export function fits(job: Job, { states, holder, attempt, spent }: JobChange["when"]): boolean {
  if (!states.includes(job.state)) return false;
  if (holder !== undefined && (job.holder ?? null) !== holder) return false;
  if (spent !== undefined && spent !== job.spent) return false;
  return attempt === undefined || attempt === job.attempt;
}

/** Applies a change to a job's own fields. */
export function changeFields(job: LiveJob, { set, clear = [], lower, also }: StashedChange): void {
  Object.assign(job, set);
  if (set.reason !== undefined) job.reason = storable(set.reason);
  if (set.error !== undefined) job.error = storable(set.error);
  if (set.deliveries !== undefined) job.deliveries = JSON.parse(storableJson(set.deliveries));
  for (const field of clear) (job as unknown as Record<string, unknown>)[field] = undefined;
  if (lower?.retentionMs !== undefined && lower.retentionMs < job.policy.retentionMs)
    job.policy = { ...job.policy, retentionMs: lower.retentionMs };
  if (lower?.expiresAt !== undefined && job.expiresAt !== undefined)
    job.expiresAt = Math.min(job.expiresAt, lower.expiresAt);
  if (also?.expiry) job.expiresAt = job.endedAt! + job.policy.retentionMs;
}
