/** The queue of a single process. It decides in memory, and a journal makes each decision durable before anyone sees it. */
import type { Admit } from "../../kernel/body-memory.ts";
import { slicesOf } from "../../kernel/slices.ts";
import { Bindings } from "./bindings.ts";
import { DeadlineHeap } from "./deadline-heap.ts";
import {
  changeFields,
  Decision,
  discard,
  fits,
  hasLarge,
  isOfMoment,
  type NewStashedJob,
  type StashedChange,
  scoped,
  stashBodies,
  stashResults,
  untilShown,
  waitingJob,
  waitsAs,
  withClaim,
} from "./decision.ts";
import { dropJobs, Expiry, REMOVED_AT_ONCE, removalsOf, removeRows } from "./embedded-removal.ts";
import { FittingBodies } from "./fitting.ts";
import { dueJobs, HolderBook, type MonotonicClock } from "./holder-book.ts";
import { isKept, isLive, type Job, type NewJob } from "./job.ts";
import { fromRow, type Journal, rowReader } from "./journal.ts";
import { LaneBook } from "./lane-book.ts";
import { LateClaims } from "./late-claims.ts";
import { beginAttempt, begunAmong, deadlineOf, KeptBodies, LiveJob, PolicyBook, snapshot } from "./live-job.ts";
import type { Ask, Chunk, Claimed, Counts, Enqueued, JobChange, Outcome, Part, Queue, Reading } from "./queue.ts";
import { resealBodies } from "./reseal.ts";

export class EmbeddedQueue implements Queue {
  readonly outputs: Queue["outputs"];
  readonly #journal: Journal;
  readonly #live = new Map<string, LiveJob>();
  readonly #lanes = new LaneBook();
  readonly #holders: HolderBook;
  readonly #bindings: Bindings;
  readonly #deadlines = new DeadlineHeap<LiveJob>(deadlineOf);
  readonly #policies = new PolicyBook();
  readonly #lateClaims: LateClaims;
  /** Idempotency keys of jobs that are not on disk yet. */
  readonly #newKeys = new Map<string, { job: LiveJob; digest: string }>();
  readonly #bodies = new KeptBodies();
  /** Endpoints that are being removed. */
  readonly #removing = new Set<string>();
  readonly #expiry: Expiry;
  #lowest = 0;
  #highest = 0;

  constructor(journal: Journal, clock: MonotonicClock) {
    this.#journal = journal;
    this.outputs = journal.outputs;
    this.#holders = new HolderBook(clock);
    this.#bindings = new Bindings(journal);
    this.#expiry = new Expiry(journal);
    this.#lateClaims = new LateClaims(journal);
    journal.whenFailed(() => this.#reload());
    this.#load((job) => this.#holders.giveGrace(job));
  }

  async enqueue(jobs: NewJob[]): Promise<Enqueued[]> {
    this.#journal.refuseNew();
    const stashed = hasLarge(jobs) ? await stashBodies(this.#journal, jobs) : (jobs as NewStashedJob[]);
    const decision = new Decision();
    const enqueued = stashed.map((job) => this.#known(job, decision) ?? this.#insert(job, decision));
    if (decision.isPending) await this.#written(decision, stashed, jobs);
    this.#showAll(decision);
    for (const { endpoint, idempotency: key } of jobs) if (key) this.#newKeys.delete(scoped(endpoint, key.key));
    if (stashed !== jobs) await discard(this.#journal, stashed, (place) => enqueued[place]!.known);
    return enqueued;
  }

  async claim(ask: Ask): Promise<Claimed[]> {
    if (!this.#bindings.allows(ask)) return [];
    const bodies = new FittingBodies(this.#journal, ask.bytes);
    const claimed = this.#lanes.of(ask.endpoint).take(ask, (job) => bodies.add(job));
    if (claimed.length === 0) return [];
    for (const job of claimed) this.#begin(job, ask);
    const jobs = claimed.map(snapshot);
    if (ask.of !== undefined) await this.#bindings.bind(ask);
    return bodies.readFor(jobs, ask.admit);
  }

  async apply(changes: JobChange[]): Promise<Outcome[]> {
    const stashed = hasLarge(changes) ? await stashResults(this.#journal, changes) : (changes as StashedChange[]);
    const decision = new Decision();
    const outcomes = stashed.map((change) => this.#apply(change, decision));
    if (decision.isPending) await this.#written(decision, stashed, changes);
    this.#showAll(decision);
    if (decision.hidden) await untilShown(decision.hidden, this.#journal, this.#live);
    if (stashed !== changes) await discard(this.#journal, stashed, (place) => !outcomes[place]!.applied);
    return outcomes;
  }

  async append(holder: string, chunks: Chunk[]): Promise<void> {
    const current = chunks.filter(({ id, attempt }) => {
      const job = this.#live.get(id);
      return job?.holder === holder && job.attempt === attempt && job.state === "IN_PROGRESS";
    });
    const restsOnOthers = chunks.some(({ id }) => (this.#live.get(id)?.pending ?? 0) > 0);
    if (current.length === 0 && !restsOnOthers) return;
    // If the chunks of an attempt are on disk, its claim must be too. Otherwise another attempt could begin with the same number.
    const claims = this.#lateClaims.take(current.map(({ id }) => this.#live.get(id)!));
    await this.#journal.write([...claims, { do: "chunks", chunks: current }]);
  }

  async read(id: string, now: number, parts: readonly Part[] = [], admit?: Admit): ReturnType<Queue["read"]> {
    const reading = parts.length > 0 ? await this.#readParts(id, parts, admit) : this.#readJob(id);
    if (reading && isKept(reading.job, now)) return reading;
    return this.#journal.wasPurged(id, now) ? "purged" : undefined;
  }

  async find(ids: readonly string[], now: number): Promise<(Job | undefined)[]> {
    return ids.map((id) => this.#readJob(id)?.job).map((job) => (job && isKept(job, now) ? job : undefined));
  }

  chunks: Queue["chunks"] = async (...asked) => this.#journal.chunks(...asked);

  list: Queue["list"] = async (filter) => {
    await this.#lateClaims.write();
    const { rows, total } = await this.#journal.list(filter);
    return { jobs: rows.map(fromRow), total };
  };

  async purge(endpoint: string, now: number): Promise<string[]> {
    const purged: string[] = [];
    const lanes = this.#lanes.of(endpoint);
    // Jobs that a worker takes between two slices are not purged.
    for (const slice of slicesOf([...lanes.everyWaiting()], REMOVED_AT_ONCE)) {
      const waiting = slice.filter((job) => job.lane === "waiting" && this.#live.get(job.id) === job);
      const ids = waiting.map(({ id }) => id);
      if (ids.length === 0) continue;
      const shown = waiting.map(({ shown, state, policy, caller }) => shown ?? { state, policy, caller });
      for (const job of waiting) this.#drop(job);
      await this.#journal.write(removalsOf(waiting, now));
      for (const job of shown) lanes.count(job, -1);
      purged.push(...ids);
    }
    return purged;
  }

  async removeEndpoint(endpoint: string): Promise<void> {
    this.#removing.add(endpoint);
    try {
      await dropJobs(this.#live.values(), endpoint, (job) => this.#drop(job));
      this.#lanes.delete(endpoint);
      this.#holders.removeEndpoint(endpoint);
      this.#bindings.removeEndpoint(endpoint);
      await removeRows(this.#journal, endpoint);
    } finally {
      this.#removing.delete(endpoint);
    }
    await this.#journal.scrub();
  }

  reseal(change: Parameters<Queue["reseal"]>[0]): Promise<number> {
    // The copy in memory is out of date now, so the body is read from the journal.
    return resealBodies(this.#journal, change, (id) => this.#bodies.release(this.#live.get(id)));
  }

  renew: Queue["renew"] = async (...call) => this.#holders.renew(...call);
  retire: Queue["retire"] = async (holder) => this.#holders.retire(holder);
  unbind: Queue["unbind"] = (holder) => this.#bindings.unbind(holder);
  holders: Queue["holders"] = async (endpoint) => this.#bindings.shownWith(this.#holders.alive(endpoint));
  held: Queue["held"] = async (holder) => this.#holders.held(holder);

  due: Queue["due"] = async (now, limit) => {
    // This is not awaited, since a lost claim only means that the job waits again.
    this.#lateClaims.write().catch(() => undefined);
    return dueJobs(this.#deadlines.due(now, limit), this.#holders.lapsed(), now, limit);
  };

  expire: Queue["expire"] = async (...ask) => this.#expiry.remove(...ask);

  async counts(endpoint: string): Promise<Counts> {
    return { ...this.#lanes.of(endpoint).counts, ...this.#journal.counters(endpoint) };
  }

  callers: Queue["callers"] = async (endpoint) => this.#lanes.of(endpoint).callers();
  charge: Queue["charge"] = async (charges) => void (await this.#journal.write([{ do: "charge", charges }]));
  chargedByKey: Queue["chargedByKey"] = async (...asked) => this.#journal.chargedByKey(...asked);
  charges: Queue["charges"] = async (filter) => this.#journal.charges(filter);
  demand: Queue["demand"] = async (most) => this.#lanes.demand(most);
  tellers: Queue["tellers"] = async (ask) => this.#journal.tellers(ask);
  outgoing: Queue["outgoing"] = async (ask) => this.#journal.outgoing(ask);

  settle: Queue["settle"] = async (...[job, url, next, seen]) =>
    void (await this.#journal.write([{ do: "settle", job, url, next, seen }]));

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lateClaims.write().catch(() => undefined);
    await this.#journal.close();
  }

  /** Resolves when the decision is durable. Without entries it waits for pending writes of other calls. */
  #written(decision: Decision, stashed: readonly (NewStashedJob | StashedChange)[], given: unknown): Promise<unknown> {
    const written = this.#journal.write(decision.entries);
    if (stashed === given) return written;
    return written.catch(async (error) => {
      await discard(this.#journal, stashed);
      throw error;
    });
  }

  /** Shows the decision to readers, once it is durable. */
  #showAll(decision: Decision): void {
    const { touched, made } = decision;
    for (let i = 0; i < touched.length; i++) {
      const job = touched[i]!;
      if (--job.pending === 0) this.#show(job);
      else this.#showAs(job, made[i], decision);
    }
  }

  #insert(job: NewStashedJob, decision: Decision): Enqueued {
    const { endpoint, body, idempotency } = job;
    const record = waitingJob(job, this.#lanes.of(endpoint).endpoint, this.#policies.shared(job.policy));
    const live = this.#admit(new LiveJob(record, ++this.#highest, this.#bodies.admit(body)));
    live.shown = null;
    const key = idempotency && { scoped: scoped(endpoint, idempotency.key), digest: idempotency.digest };
    if (key) this.#newKeys.set(key.scoped, { job: live, digest: key.digest });
    decision.insert(live, record, body, key);
    live.pending++;
    decision.touched.push(live);
    return { job: record, known: false };
  }

  #known({ endpoint, createdAt, idempotency }: NewStashedJob, decision: Decision): Enqueued | undefined {
    if (!idempotency) return undefined;
    const key = scoped(endpoint, idempotency.key);
    const fresh = this.#newKeys.get(key);
    if (fresh) {
      // The first job is not on disk yet, so this call waits for the same write.
      decision.waits = true;
      return { job: snapshot(fresh.job), known: true, digest: fresh.digest };
    }
    const stored = this.#journal.findKey(key);
    const job = stored && this.#readJob(stored.id)?.job;
    if (!job || (job.expiresAt !== undefined && job.expiresAt <= createdAt)) return undefined;
    return { job, known: true, digest: stored.digest };
  }

  #begin(job: LiveJob, { holder, now }: Pick<Ask, "holder" | "now">): void {
    const lanes = this.#lanes.of(job.endpoint);
    lanes.count(job.shown ?? job, -1);
    beginAttempt(job, holder, now);
    lanes.count(job.shown ?? job, 1);
    this.#bodies.release(job);
    this.#deadlines.update(job);
    this.#holders.add(job);
    this.#lateClaims.add(job);
  }

  #apply(change: StashedChange, decision: Decision): Outcome {
    const job = this.#live.get(change.id) ?? this.#revive(change.id, decision);
    if (!job) return { applied: false };
    if (this.#expiry.includes(job)) {
      decision.waits = true;
      return { applied: false };
    }
    if (!fits(job, change.when)) {
      if (job.pending > 0) decision.waits = true;
      else if (!isLive(job)) this.#drop(job);
      return { applied: false, now: snapshot(job) };
    }
    decision.touched.push(job);
    job.pending++;
    if (job.shown === undefined) job.shown = snapshot(job);
    const returns = change.set.state === "IN_QUEUE" && job.state !== "IN_QUEUE";
    this.#holders.remove(job);
    this.#lateClaims.delete(job);
    changeFields(job, change);
    if (change.set.policy || change.lower) job.policy = this.#policies.shared(job.policy);
    if (job.state !== "IN_QUEUE" && job.lane === "waiting") job.lane = "left";
    if (returns) job.position = (change.place ?? "front") === "front" ? --this.#lowest : ++this.#highest;
    if (job.state === "IN_PROGRESS") this.#holders.add(job);
    this.#deadlines.update(job);
    return { applied: true, job: decision.update(change, job) };
  }

  /** Loads a finished job from disk, so that a change can be decided on it. */
  #revive(id: string, decision: Decision): LiveJob | undefined {
    const row = this.#journal.find(id);
    if (!row) return undefined;
    // If it is on disk but not in memory, its removal is under way.
    if (isLive(row) || this.#removing.has(row.endpoint) || this.#expiry.includes(row)) {
      decision.waits = true;
      return undefined;
    }
    const job = fromRow(row);
    return this.#admit(new LiveJob({ ...job, policy: this.#policies.shared(job.policy) }, row.position, undefined));
  }

  /** A client that got an answer must find its change, even while a later change of the same job is under way. */
  #showAs(job: LiveJob, made: Job | undefined, decision: Decision): void {
    if (!made || job.shown === undefined || this.#live.get(job.id) !== job) return;
    const now = withClaim(made, job.shown);
    this.#lanes.of(job.endpoint).recount(job.shown, now);
    job.shown = now;
    if (!waitsAs(job, made)) return;
    if (job.lane === "out") this.#lanes.of(job.endpoint).put(job);
    else if (job.lane === "left") decision.hide(job);
  }

  #show(job: LiveJob): void {
    if (this.#live.get(job.id) !== job) return;
    const lanes = this.#lanes.of(job.endpoint);
    if (job.shown !== undefined) lanes.recount(job.shown, job);
    job.shown = undefined;
    if (!isLive(job)) this.#drop(job);
    else if (job.state === "IN_QUEUE" && job.lane !== "waiting") lanes.put(this.#withoutTrace(job));
  }

  /** A job that left a lane and returns gets a new object, so that its old entry in the lane does not lead to it. */
  #withoutTrace(job: LiveJob): LiveJob {
    if (job.lane === "out") return job;
    const fresh = new LiveJob(snapshot(job), job.position, job.body);
    this.#live.set(fresh.id, fresh);
    this.#deadlines.remove(job);
    this.#deadlines.add(fresh);
    return fresh;
  }

  /** After a failed write, memory is ahead of the disk. It is thrown away and loaded again, except for claims that were not written yet. */
  #reload(): void {
    const begun = begunAmong(this.#live.values());
    for (const job of this.#live.values()) this.#deadlines.remove(job);
    this.#live.clear();
    this.#lanes.clear();
    this.#holders.forgetJobs();
    this.#newKeys.clear();
    this.#lateClaims.clear();
    this.#bodies.clear();
    this.#bindings.load();
    this.#load();
    // Their workers are at these jobs. Otherwise the jobs would wait, and nobody would be called for them.
    for (const { id, attempt, holder = "", startedAt: now = 0 } of begun) {
      const job = this.#live.get(id);
      if (job?.state !== "IN_QUEUE" || job.attempt !== attempt - 1) continue;
      job.lane = "left";
      this.#begin(job, { holder, now });
    }
  }

  #load(running?: (job: LiveJob) => void): void {
    ({ lowest: this.#lowest, highest: this.#highest } = this.#journal.positions());
    const read = rowReader((policy) => this.#policies.shared(policy));
    const wantsBody = () => this.#bodies.isOpen;
    this.#journal.live(wantsBody, (row, body) => {
      const lanes = this.#lanes.of(row.endpoint);
      const isWaiting = row.state === "IN_QUEUE";
      // Each row has its own copy of the name. All jobs share this one instead.
      row.endpoint = lanes.endpoint;
      const live = new LiveJob(read(row), row.position, isWaiting ? this.#bodies.admit(body) : undefined);
      this.#admit(live);
      lanes.count(live, 1);
      if (isWaiting) lanes.put(live);
      else if (live.holder !== undefined) {
        this.#holders.add(live);
        running?.(live);
      }
    });
  }

  #admit(job: LiveJob): LiveJob {
    this.#live.set(job.id, job);
    this.#deadlines.add(job);
    return job;
  }

  /** Removes a job from memory only. */
  #drop(job: LiveJob): void {
    this.#live.delete(job.id);
    this.#deadlines.remove(job);
    this.#bodies.release(job);
    this.#holders.remove(job);
    this.#lateClaims.delete(job);
    if (job.lane === "waiting") job.lane = "left";
  }

  #readJob(id: string): Reading | undefined {
    const live = this.#live.get(id);
    if (live) return live.shown === null ? undefined : { job: live.shown ?? snapshot(live) };
    const row = this.#journal.find(id);
    return row && { job: fromRow(row) };
  }

  async #readParts(id: string, parts: readonly Part[], admit?: Admit): Promise<Reading | undefined> {
    const live = this.#live.get(id);
    const { attempt, retried } = live ?? {};
    const shown = live && this.#readJob(id)?.job;
    const written = await this.#journal.read(id, parts, admit);
    // A job that ended or began anew while its parts were read is shown as it was written together with them.
    const isSameRun = live && this.#live.get(id) === live && live.attempt === attempt && live.retried === retried;
    return written && { job: isSameRun && isOfMoment(written, shown) ? shown : fromRow(written.row), ...written.parts };
  }
}
