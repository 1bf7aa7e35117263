/** The queue of a single process: decisions in memory, made durable by a journal before anyone sees them. */
import { DeadlineHeap } from "./deadline-heap.ts";
import { addCount, type Count, entriesOf, fits, type StashedChange } from "./embedded-change.ts";
import { isLive, type Job, type JobPolicy, type NewJob, type Payload } from "./job.ts";
import { type Entry, fromRow, isLarge, type Journal, type Stashed, toRow } from "./journal.ts";
import { Lanes } from "./lanes.ts";
import { BodyRoom, deadlineOf, type Holder, LiveJob, snapshot } from "./live-job.ts";
import type {
  Ask,
  Change,
  Chunk,
  Claimed,
  Counts,
  Due,
  Enqueued,
  HolderState,
  JobFilter,
  Outcome,
  Outgoing,
  Part,
  Queue,
  Reading,
} from "./queue.ts";

/** After a start, workers get this long to be heard of before their jobs are given to others. */
const GRACE_MS = 30_000;

type NewStashedJob = Omit<NewJob, "body"> & { body: Stashed };

export class EmbeddedQueue implements Queue {
  readonly #journal: Journal;
  readonly #live = new Map<string, LiveJob>();
  readonly #lanes = new Map<string, Lanes>();
  readonly #holders = new Map<string, Holder>();
  readonly #deadlines = new DeadlineHeap<LiveJob>(deadlineOf);
  readonly #policies = new Map<string, JobPolicy>();
  /** Keys of jobs that are not on the disk yet. */
  readonly #newKeys = new Map<string, { job: LiveJob; digest: string }>();
  readonly #room = new BodyRoom();
  #failure: unknown;
  #lowest = 0;
  #highest = 0;

  constructor(journal: Journal, now: number) {
    this.#journal = journal;
    this.#load(now);
  }

  async enqueue(jobs: NewJob[]): Promise<Enqueued[]> {
    const stashed = jobs.some(({ body }) => isLarge(body))
      ? await Promise.all(jobs.map(async (job) => ({ ...job, body: await this.#stash(job.body) })))
      : (jobs as NewStashedJob[]);
    const entries: Entry[] = [];
    const touched: LiveJob[] = [];
    const enqueued = stashed.map((job) => this.#known(job, touched) ?? this.#insert(job, entries, touched));
    await this.#commit(entries, touched);
    for (const { idempotency, endpoint } of jobs)
      if (idempotency) this.#newKeys.delete(scoped(endpoint, idempotency.key));
    return enqueued;
  }

  async claim(ask: Ask): Promise<Claimed[]> {
    const lanes = this.#lanesOf(ask.endpoint);
    const except = ask.except && ask.except.length > 0 ? new Set(ask.except) : undefined;
    const claimed: LiveJob[] = [];
    const passed: LiveJob[] = [];
    while (claimed.length < ask.limit) {
      const job = lanes.take();
      if (!job) break;
      if (except?.has(job.id)) passed.push(job);
      else claimed.push(job);
    }
    for (const job of passed.reverse()) lanes.put(job, "front");
    if (claimed.length === 0) return [];
    const bodies = claimed.map(({ id, body }) => body ?? this.#journal.part(id, "body"));
    const entries = claimed.map((job) => this.#begin(job, ask));
    const jobs = claimed.map(snapshot);
    // Not awaited: a lost claim only means that the job waits again. A failed write is dealt with where it is noticed.
    this.#write(entries).catch(() => undefined);
    return Promise.all(jobs.map(async (job, i) => ({ job, body: (await bodies[i])! })));
  }

  async apply(changes: Change[]): Promise<Outcome[]> {
    const stashed = changes.some(({ result }) => isLarge(result))
      ? await Promise.all(changes.map(async (change) => ({ ...change, result: await this.#stash(change.result) })))
      : (changes as StashedChange[]);
    const entries: Entry[] = [];
    const touched: LiveJob[] = [];
    const counted = new Map<string, Count>();
    const outcomes = stashed.map((change) => this.#apply(change, entries, touched, counted));
    for (const [endpoint, count] of counted) entries.push({ do: "count", endpoint, count });
    await this.#commit(entries, touched);
    return outcomes;
  }

  async append(holder: string, chunks: Chunk[]): Promise<void> {
    const current = chunks.filter(({ id, attempt }) => {
      const job = this.#live.get(id);
      return job?.holder === holder && job.attempt === attempt && job.state === "IN_PROGRESS";
    });
    if (current.length > 0) await this.#write([{ do: "chunks", chunks: current }]);
  }

  async read(id: string, now: number, parts: readonly Part[] = []): Promise<Reading | "purged" | undefined> {
    const job = this.#visible(id);
    if (!job || (job.expiresAt !== undefined && job.expiresAt <= now)) {
      return this.#journal.wasPurged(id, now) ? "purged" : undefined;
    }
    const reading: Reading = { job };
    for (const part of parts) Object.assign(reading, { [part]: await this.#journal.part(id, part) });
    return reading;
  }

  async chunks(id: string, after: { attempt: number; sequence: number }, limit: number): Promise<Chunk[]> {
    return this.#journal.chunks(id, after, limit);
  }

  async list(filter: JobFilter): Promise<{ jobs: Job[]; total: number }> {
    const { rows, total } = this.#journal.list(filter);
    return { jobs: rows.map(fromRow), total };
  }

  async purge(endpoint: string, until: number): Promise<string[]> {
    const waiting = [...this.#live.values()].filter(
      (job) => job.endpoint === endpoint && job.state === "IN_QUEUE" && job.pending === 0,
    );
    const ids = waiting.map(({ id }) => id);
    for (const job of waiting) this.#forget(job);
    if (waiting.length > 0) await this.#write([{ do: "remove", ids, rememberUntil: until }]);
    return ids;
  }

  async removeEndpoint(endpoint: string): Promise<void> {
    for (const job of [...this.#live.values()]) if (job.endpoint === endpoint) this.#forget(job);
    this.#lanes.delete(endpoint);
    for (const [name, holder] of this.#holders) if (holder.endpoint === endpoint) this.#holders.delete(name);
    await this.#write([{ do: "removeEndpoint", endpoint }]);
    await this.#journal.scrub();
  }

  async renew(holder: string, endpoint: string, until: number): Promise<void> {
    this.#holderOf(holder, endpoint).until = until;
  }

  async retire(holder: string): Promise<void> {
    const known = this.#holders.get(holder);
    if (known) known.until = Number.NEGATIVE_INFINITY;
  }

  async holders(endpoint: string, now: number): Promise<HolderState[]> {
    return [...this.#holders]
      .filter(([, holder]) => holder.endpoint === endpoint && holder.until > now)
      .map(([name, { until, jobs }]) => ({ holder: name, endpoint, until, jobs: jobs.size }));
  }

  async held(holder: string): Promise<Job[]> {
    return [...(this.#holders.get(holder)?.jobs ?? [])].map(snapshot);
  }

  async due(now: number, limit: number): Promise<Due[]> {
    const due = this.#deadlines
      .due(now, limit)
      .filter(({ pending }) => pending === 0)
      .map((job): Due => ({ job: snapshot(job), why: job.ttlAt <= now ? "ttl" : "execution" }));
    for (const [name, { until, jobs }] of this.#holders) {
      if (until > now) continue;
      for (const job of jobs)
        if (job.pending === 0 && due.length < limit) due.push({ job: snapshot(job), why: "holder" });
      if (jobs.size === 0) this.#holders.delete(name);
    }
    return due;
  }

  async expire(now: number, limit: number): Promise<number> {
    if (!this.#journal.hasExpired(now)) return 0;
    const [removed] = await this.#write([{ do: "expire", now, limit }]);
    return removed as number;
  }

  async counts(endpoint: string): Promise<Counts> {
    return { ...this.#lanesOf(endpoint).count, ...this.#journal.counters(endpoint) };
  }

  async outgoing(now: number, limit: number): Promise<Outgoing[]> {
    return this.#journal.outgoing(now, limit);
  }

  async settle(job: string, url: string, next: { tries: number; dueAt: number } | "done"): Promise<void> {
    await this.#write([{ do: "settle", job, url, next }]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#journal.close();
  }

  /** Large payloads are on the disk before anything is decided, so that nobody waits behind them. */
  async #stash<P extends Payload | null | undefined>(payload: P): Promise<Exclude<P, Uint8Array> | Stashed> {
    return isLarge(payload) ? this.#journal.stash(payload as Payload) : (payload as Exclude<P, Uint8Array>);
  }

  #insert(job: NewStashedJob, entries: Entry[], touched: LiveJob[]): Enqueued {
    const { id, endpoint, createdAt, webhooks, sealed, body, idempotency } = job;
    const policy = this.#shared(job.policy);
    const counters = { attempt: 0, spent: 0, errorsRetried: 0, retried: 0 };
    const times = { createdAt, queuedAt: createdAt, ttlAt: createdAt + policy.ttlMs };
    const record: Job = { id, endpoint, state: "IN_QUEUE", policy, ...times, ...counters };
    if (webhooks) record.webhooks = webhooks;
    if (sealed) record.sealed = sealed;
    const live = new LiveJob(record, ++this.#highest, this.#room.admit(body));
    live.shown = null;
    this.#admit(live);
    const key = idempotency && { scoped: scoped(endpoint, idempotency.key), digest: idempotency.digest };
    if (key) this.#newKeys.set(key.scoped, { job: live, digest: key.digest });
    entries.push({ do: "insert", row: toRow(live, live.position), body, key });
    live.pending++;
    touched.push(live);
    return { job: record, known: false };
  }

  #known({ endpoint, idempotency }: NewStashedJob, touched: LiveJob[]): Enqueued | undefined {
    if (!idempotency) return undefined;
    const key = scoped(endpoint, idempotency.key);
    const fresh = this.#newKeys.get(key);
    if (fresh) {
      // It is not on the disk yet: whoever sent it second waits for the same write.
      fresh.job.pending++;
      touched.push(fresh.job);
      return { job: snapshot(fresh.job), known: true, digest: fresh.digest };
    }
    const stored = this.#journal.findKey(key);
    const job = stored && this.#visible(stored.id);
    return job && { job, known: true, digest: stored.digest };
  }

  #begin(job: LiveJob, { holder, now }: Ask): Entry {
    this.#recount(job, "IN_PROGRESS");
    job.holder = holder;
    job.barred = undefined;
    job.attempt++;
    job.spent++;
    job.startedAt = now;
    job.deadline = now + job.policy.executionTimeoutMs;
    this.#room.release(job);
    this.#deadlines.update(job);
    this.#holderOf(holder, job.endpoint).jobs.add(job);
    return { do: "update", row: toRow(job, job.position) };
  }

  #apply(change: StashedChange, entries: Entry[], touched: LiveJob[], counted: Map<string, Count>): Outcome {
    const job = this.#live.get(change.id) ?? this.#revive(change.id);
    if (!job) return { applied: false };
    touched.push(job);
    job.pending++;
    if (!fits(job, change.when)) return { applied: false, now: snapshot(job) };
    if (job.shown === undefined) job.shown = snapshot(job);
    const place = change.place ?? "front";
    if (change.set.state) job.waiting = false;
    const returns = change.set.state === "IN_QUEUE" && job.state !== "IN_QUEUE";
    this.#holders.get(job.holder ?? "")?.jobs.delete(job);
    if (change.set.state) this.#recount(job, change.set.state);
    Object.assign(job, change.set);
    if (change.set.policy) job.policy = this.#shared(change.set.policy);
    for (const field of change.clear ?? []) (job as unknown as Record<string, unknown>)[field] = undefined;
    if (returns) job.position = place === "front" ? --this.#lowest : ++this.#highest;
    if (job.state === "IN_PROGRESS" && job.holder) this.#holderOf(job.holder, job.endpoint).jobs.add(job);
    this.#deadlines.update(job);
    entries.push(...entriesOf(change, job));
    if (change.also?.count) addCount(counted, job.endpoint, change.also.count);
    return { applied: true, job: snapshot(job) };
  }

  /** Brings a finished job back from the disk, so that a change can be decided on it. */
  #revive(id: string): LiveJob | undefined {
    const row = this.#journal.find(id);
    if (!row || isLive(row)) return undefined;
    const job = fromRow(row);
    const live = new LiveJob({ ...job, policy: this.#shared(job.policy) }, row.position, undefined);
    this.#admit(live);
    return live;
  }

  /** Writes, and shows what was written once it is durable. Without entries it waits for the writes that others have pending. */
  async #commit(entries: Entry[], touched: LiveJob[]): Promise<void> {
    if (entries.length > 0 || touched.some(({ pending }) => pending > 1)) await this.#write(entries);
    for (const job of touched) {
      if (--job.pending === 0) this.#show(job);
    }
  }

  #show(job: LiveJob): void {
    job.shown = undefined;
    if (!isLive(job)) this.#drop(job);
    else if (job.state === "IN_QUEUE" && !job.waiting) {
      this.#lanesOf(job.endpoint).put(job, job.position < 0 ? "front" : "back");
    }
  }

  /** A write that failed leaves memory ahead of the disk: memory is thrown away and read anew. */
  async #write(entries: Entry[]): Promise<unknown[]> {
    try {
      return await this.#journal.write(entries);
    } catch (error) {
      // One failure refuses every write that was under way, each with the same error.
      if (error !== this.#failure) this.#reload();
      this.#failure = error;
      throw error;
    }
  }

  #reload(): void {
    const heard = new Map(this.#holders);
    this.#live.clear();
    this.#lanes.clear();
    this.#holders.clear();
    this.#newKeys.clear();
    this.#room.clear();
    while (this.#deadlines.first) this.#deadlines.remove(this.#deadlines.first);
    this.#load(0);
    for (const [name, { endpoint, until }] of heard) this.#holderOf(name, endpoint).until = until;
  }

  #load(now: number): void {
    ({ lowest: this.#lowest, highest: this.#highest } = this.#journal.positions());
    for (const { row, body } of this.#journal.live()) {
      const job = fromRow(row);
      const kept = body === undefined || job.state !== "IN_QUEUE" ? undefined : this.#room.admit(body);
      const live = new LiveJob({ ...job, policy: this.#shared(job.policy) }, row.position, kept);
      this.#admit(live);
      if (live.state === "IN_QUEUE") this.#lanesOf(live.endpoint).put(live, "back");
      else if (live.holder) {
        const holder = this.#holderOf(live.holder, live.endpoint);
        holder.until = now + GRACE_MS;
        holder.jobs.add(live);
      }
    }
  }

  #admit(job: LiveJob): void {
    this.#live.set(job.id, job);
    this.#deadlines.add(job);
    this.#lanesOf(job.endpoint).recount(job, undefined, job.state);
  }

  /** Takes a job out of memory; the disk keeps it. */
  #drop(job: LiveJob): void {
    this.#live.delete(job.id);
    this.#deadlines.remove(job);
    this.#room.release(job);
    this.#holders.get(job.holder ?? "")?.jobs.delete(job);
  }

  #forget(job: LiveJob): void {
    this.#recount(job, undefined);
    this.#drop(job);
  }

  #recount(job: LiveJob, to: Job["state"] | undefined): void {
    this.#lanesOf(job.endpoint).recount(job, job.state, to);
    job.state = to ?? "CANCELLED";
  }

  #visible(id: string): Job | undefined {
    const live = this.#live.get(id);
    if (live) return live.shown === undefined ? snapshot(live) : (live.shown ?? undefined);
    const row = this.#journal.find(id);
    return row && fromRow(row);
  }

  #lanesOf(endpoint: string): Lanes {
    let lanes = this.#lanes.get(endpoint);
    if (!lanes) {
      lanes = new Lanes();
      this.#lanes.set(endpoint, lanes);
    }
    return lanes;
  }

  #holderOf(name: string, endpoint: string): Holder {
    let holder = this.#holders.get(name);
    if (!holder) {
      holder = { endpoint, until: Number.NEGATIVE_INFINITY, jobs: new Set() };
      this.#holders.set(name, holder);
    }
    return holder;
  }

  /** A million jobs agree on a handful of policies; each is kept once. */
  #shared(policy: JobPolicy): JobPolicy {
    const key = `${policy.ttlMs} ${policy.executionTimeoutMs} ${policy.retentionMs} ${policy.errorRetries} ${policy.lowPriority}`;
    const known = this.#policies.get(key);
    if (known) return known;
    if (this.#policies.size > 10_000) this.#policies.clear();
    this.#policies.set(key, policy);
    return policy;
  }
}

const scoped = (endpoint: string, key: string) => `${endpoint}/${key}`;
