/** The job engine as its workers see it: take, report, stream, ping, stop. */
import type { Clock } from "../kernel/clock.ts";
import type { Gone } from "../kernel/gone.ts";
import { because, type Reason } from "../kernel/reason.ts";
import { inSlices } from "../kernel/slices.ts";
import { type Job, jobLifecycle } from "../ports/queue/job.ts";
import type { Chunk, Claimed, JobChange, Outcome, Queue } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";
import { Claims } from "./claims.ts";
import type { EngineParts } from "./engine.ts";
import { lastSequence } from "./last-chunk.ts";
import { changeReported, claimingBack, failing, givingUp, handingBack } from "./moves.ts";
import { Overruns } from "./overruns.ts";
import { type Apartness, nobodyIsApart, OwnWorkers } from "./own-workers.ts";
import { Pollers } from "./pollers.ts";
import type { Report } from "./report.ts";
import { type Begun, isStuck, listsAreTrusted, omittedTwice, type Session, Sessions } from "./sessions.ts";
import { LOST_AFTER_MS } from "./silence.ts";
import { StopCalls } from "./stop-calls.ts";
import { streamedTokens } from "./streamed-tokens.ts";
import { holdOf, Takes } from "./takes.ts";
import type { Waiters } from "./waiters.ts";
import { nobodyWarmsUp, noticeWarmUp, reportWarmUp, type WarmUps, warmUpId } from "./warm-up.ts";
import { Withheld } from "./withheld.ts";
import { nobodyKeepsWorkers, type Taking, type WorkerCall, type WorkerEvents } from "./worker-events.ts";

export type { WorkerCall };

export interface Reported {
  id: string;
  report: Report;
  /** Only our own worker library says which attempt it reports. */
  attempt?: number;
}

/** A post of a streaming job. Only our own worker library numbers the posts of an attempt, from 1. */
export interface Streamed {
  id: string;
  /** The chunks made from this post. */
  chunks: readonly string[];
  numbered?: { attempt: number; sequence: number };
}

/** Jobs that this node does not remember are read from disk. After this many, other work gets its turn. */
const LOOKED_FOR_AT_ONCE = 50;

/** How often a report is retried against a job that changes meanwhile. */
const TRIES = 4;

export class WorkerDesk {
  readonly #queue: Queue;
  readonly #signals: Signals;
  readonly #clock: Clock;
  readonly #waiters: Waiters;
  readonly #sessions = new Sessions();
  readonly #stale = new Map<string, number>();
  readonly #pollers: Pollers;
  readonly #stopCalls: StopCalls;
  readonly withheld: Withheld;
  readonly overruns: Overruns;
  readonly #events: WorkerEvents;
  readonly #warmUps: WarmUps;
  readonly #own: OwnWorkers;
  readonly #takes: Takes;

  constructor(parts: EngineParts & { waiters: Waiters; events?: WorkerEvents; warmUps?: WarmUps; apart?: Apartness }) {
    this.#queue = parts.queue;
    this.#signals = parts.signals;
    this.#clock = parts.clock;
    this.#waiters = parts.waiters;
    this.#pollers = new Pollers(parts);
    this.#stopCalls = new StopCalls(parts);
    const known = { ...parts, sessions: this.#sessions, pollers: this.#pollers };
    this.overruns = new Overruns(known);
    this.withheld = new Withheld({ ...known, overruns: this.overruns });
    this.#events = parts.events ?? nobodyKeepsWorkers;
    this.#warmUps = parts.warmUps ?? nobodyWarmsUp;
    this.#own = new OwnWorkers({ ...parts, ...(parts.apart ?? nobodyIsApart), events: this.#events });
    const isShared = parts.isShared ?? (() => false);
    this.#takes = new Takes({
      ...{ clock: parts.clock, pollers: this.#pollers, own: this.#own, warmUps: this.#warmUps },
      claims: new Claims({ ...parts, isShared, pollers: this.#pollers, own: this.#own }),
      heard: (call) => this.#heard(call),
      renew: (call) => this.#renew(call),
      handBack: (call, jobs) => this.handBack(call, jobs),
    });
  }

  /** Returns up to `limit` jobs and waits up to `waitMs` for the first. If the worker is gone by then, the job loses no attempt. */
  take(call: WorkerCall, taking: Taking): Promise<Claimed[]> {
    return this.#takes.take(call, taking);
  }

  /** Returns jobs that never reached the worker. */
  async handBack(call: WorkerCall, handed: Job[]): Promise<void> {
    const { endpoint, worker } = call;
    const session = this.#sessions.of(worker, endpoint, this.#clock.monotonic());
    const jobs = handed.filter(({ id }) => id !== warmUpId(call));
    if (jobs.length < handed.length) await this.#warmUps.lose(call, true);
    for (const { id } of jobs) session.begun.delete(id);
    const outcomes = await this.#queue.apply(jobs.map(handingBack));
    const returned = outcomes.filter(({ applied }) => applied).length;
    if (returned > 0) this.#signals.emit(`work:${endpoint}`, returned);
  }

  /** Fails a job that was taken and cannot be handed to any worker. */
  async fail({ endpoint, worker }: WorkerCall, job: Job, reason: Reason): Promise<void> {
    const session = this.#sessions.of(worker, endpoint, this.#clock.monotonic());
    await this.#endOrReturn(session, [failing(job, undefined, this.#clock.now(), { reason })]);
  }

  /** Accepts results and progress. A report that is late, repeated or from another worker changes nothing. */
  async report(call: WorkerCall, given: Reported[]): Promise<void> {
    const session = this.#heard(call);
    const reports = session.isWarm ? given : await reportWarmUp(this.#warmUps, call, given);
    const known = reports.map((one) => this.#begun(session, call.worker, one));
    // Jobs of the endpoint's own account pay nothing, and wait for nothing here.
    const isPaid = known.some((job) => job?.fare !== undefined);
    const streamed = isPaid ? await streamedTokens(this.#queue, session, known, reports) : undefined;
    const now = this.#clock.now();
    const changes: JobChange[] = [];
    for (const [i, one] of reports.entries())
      if (known[i]) changes.push(changeReported(known[i], one.report, now, streamed?.get(known[i])));
    const outcomes = changes.length > 0 ? await this.#queue.apply(changes) : [];
    let next = 0;
    const others: { one: Reported; refused: Outcome | undefined }[] = [];
    for (const [i, one] of reports.entries()) {
      const outcome = known[i] ? outcomes[next++] : undefined;
      const isEnd = one.report.kind === "end";
      if (isEnd) {
        session.begun.delete(one.id);
        session.told.delete(one.id);
        session.activeAt = now;
      } else session.seen.add(one.id);
      if (outcome?.applied) {
        // The worker is no longer busy with this job, whatever its last ping said.
        if (isEnd) session.listed.delete(one.id);
        this.#tell(outcome.job, one.report);
      } else others.push({ one, refused: outcome });
    }
    // These come last because they take more writes, and requests that wait for the other jobs must not wait for them.
    await inSlices(others, LOOKED_FOR_AT_ONCE, ({ one, refused }) => this.#reportAnew(call, session, one, refused));
    // The worker is no longer busy with these either, though a ping may have listed them meanwhile. So it may take one that waits in the queue.
    const freed = others.filter(({ one }) => one.report.kind === "end" && session.listed.delete(one.id));
    if (freed.length > 0) this.#signals.emit(`work:${call.endpoint}`, freed.length);
    if (reports.some(({ report }) => report.kind === "end" && report.refresh))
      this.#events.tired(call, because("refresh-asked"));
  }

  /** Stores the chunks of a streaming job in the order they arrive. A numbered post that arrives twice is stored once. */
  async stream(call: WorkerCall, { id, chunks: posted, numbered }: Streamed): Promise<void> {
    const session = this.#heard(call);
    const isMeant = (begun: Begun | undefined) => !numbered || begun?.job.attempt === numbered.attempt;
    let begun = session.begun.get(id);
    if (!begun || !isMeant(begun)) begun = await this.#resume(call, session, id, numbered?.attempt);
    if (!begun || !isMeant(begun)) return;
    if (begun.nextChunk === undefined) {
      const last = await lastSequence(this.#queue, id, begun.job.attempt);
      // Two posts may have looked at once. The check makes the second continue behind the first.
      begun.nextChunk ??= last + 1;
    }
    session.seen.add(id);
    const { attempt } = begun.job;
    const chunks: Chunk[] = [];
    for (const [piece, part] of posted.entries()) {
      const key = numbered && { key: `${numbered.sequence}.${piece}` };
      chunks.push({ id, attempt, sequence: begun.nextChunk++, text: part, ...key });
    }
    await this.#queue.append(call.worker, chunks);
    this.#signals.emit(`chunk:${id}`);
  }

  /** The worker is alive and runs the jobs it lists. Jobs that it holds but leaves out twice in a row go to others. */
  async ping(call: WorkerCall, listed: ReadonlySet<string>, sdkVersion?: string): Promise<void> {
    const session = this.#heard(call);
    session.told.clear();
    if (!listsAreTrusted(sdkVersion)) return;
    await noticeWarmUp(this.#warmUps, call, session, listed);
    const listedBefore = session.listed;
    session.listed = new Set(listed);
    session.listed.delete(warmUpId(call));
    // A waiting job that this worker could not take while it listed it may be taken now, before anything is written.
    if ([...listedBefore].some((id) => !listed.has(id))) this.#signals.emit(`work:${call.endpoint}`);
    const held = await this.#queue.held(call.worker);
    const lost = omittedTwice(session, held, listed, this.#clock.monotonic());
    await this.#endOrReturn(session, givingUp(lost, call.worker, this.#clock.now()));
    const holds = new Set(held.map(({ id }) => id));
    const others = [...listed].filter((id) => !holds.has(id));
    await inSlices(others, LOOKED_FOR_AT_ONCE, (id) => this.#claimBack(call, session, id));
    const stops = await this.overruns.toStop(call, session);
    if (stops.length > 0) this.#signals.emit(`stop:${call.worker}`);
    if (isStuck(session, stops.length > 0 && holds.size === 0, this.#clock.monotonic())) this.#events.stuck(call);
  }

  /** Returns the jobs that the worker must stop, and waits up to `waitMs` for the first. */
  async stops(call: WorkerCall, { waitMs, gone }: { waitMs: number; gone: Gone }): Promise<string[]> {
    const session = this.#heard(call);
    const untilMs = this.#clock.monotonic() + holdOf(session, waitMs);
    const { round } = session;
    for (;;) {
      const heard = this.#stopCalls.next(call.worker, untilMs - this.#clock.monotonic(), gone);
      const ids = await this.overruns.toStop(call, session);
      if (ids.length > 0) {
        heard.cancel();
        for (const id of ids) {
          session.told.add(id);
          session.begun.delete(id);
        }
        return ids;
      }
      if (!(await heard.signalled) || session.round !== round) return [];
    }
  }

  /** Counts the results, since this node started, from workers that did not hold the job. */
  staleReports(endpoint: string): number {
    return this.#stale.get(endpoint) ?? 0;
  }

  /**
   * The worker's process has ended or will do nothing more, so nobody waits until it counts as silent. `orderly` means that its jobs did
   * not cause this: they go back to the queue as if they had never begun.
   */
  async ended(call: WorkerCall, how = "was lost", orderly = false): Promise<void> {
    const { worker, endpoint } = call;
    const session = this.#sessions.of(worker, endpoint, this.#clock.monotonic());
    // Its connections may stay open for a while. A job that went there would be lost with them.
    this.withheld.letGo(call);
    const jobs = await this.#queue.held(worker);
    const lost = jobs.map((job) => ({ job, why: `${how} while processing the job` }));
    if (orderly) await this.handBack(call, jobs);
    else await this.#endOrReturn(session, givingUp(lost, worker, this.#clock.now()));
    this.#sessions.forget(worker);
    await this.#queue.retire(worker);
  }

  async unfit(...[call, reason]: Parameters<WorkerEvents["unfit"]>): Promise<void> {
    // Its process goes on until it is ended, so it stays bound to its account.
    await this.ended(call, "said that it is not fit");
    this.#events.unfit(call, reason);
  }

  /** Nothing of the worker is left, and it can speak no more. */
  gone({ worker }: WorkerCall): Promise<void> {
    return this.#queue.unbind(worker);
  }

  drain(call: WorkerCall): Promise<boolean> {
    return this.withheld.drain(call);
  }

  /** Something about this worker has changed, so its open request is checked again. */
  lookAgain({ endpoint, worker }: WorkerCall): void {
    this.#pollers.call(endpoint, worker);
  }

  /** Reports whether a worker of this endpoint waits here and was not called for a job yet. */
  hasFree(endpoint: string): boolean {
    return this.#pollers.hasFree(endpoint);
  }

  /** When the worker last took or ended a job here, or undefined if this node never heard from it. */
  activeAt(worker: string): number | undefined {
    return this.#sessions.find(worker)?.activeAt;
  }

  /** Hands out no more jobs and releases everyone who waits. */
  close(): void {
    this.#pollers.close();
    this.#stopCalls.close();
  }

  #renew({ worker, endpoint }: WorkerCall): void {
    // This is not awaited, because a sign of life need not be durable.
    this.#queue.renew(worker, endpoint, LOST_AFTER_MS).catch(() => undefined);
  }

  #heard(call: WorkerCall): Session {
    const { worker, endpoint } = call;
    this.#renew(call);
    const session = this.#sessions.of(worker, endpoint, this.#clock.monotonic());
    if (!session.heard) this.#events.heard({ worker, endpoint });
    session.heard = true;
    return session;
  }

  /** Returns the job as it was handed out here, if this report can be about that run. */
  #begun(session: Session, worker: string, { id, attempt }: Reported): Job | undefined {
    const job = session.begun.get(id)?.job;
    return job?.holder === worker && (attempt === undefined || attempt === job.attempt) ? job : undefined;
  }

  /** Handles, more slowly, reports about jobs that are not as this node remembers them. */
  async #reportAnew(
    call: WorkerCall,
    session: Session,
    { id, report, attempt }: Reported,
    refused?: Outcome,
  ): Promise<void> {
    let job = refused && !refused.applied ? refused.now : await this.#read(call, id);
    let mine = false;
    for (let tries = 0; job && tries < TRIES; tries++) {
      const held = job.state === "IN_PROGRESS" && job.holder === call.worker;
      if (held && (mine || attempt === undefined || attempt === job.attempt)) {
        const streamed = (await streamedTokens(this.#queue, session, [job], [{ report }])).get(job);
        const [outcome]: Outcome[] = await this.#queue.apply([
          changeReported(job, report, this.#clock.now(), streamed),
        ]);
        if (outcome!.applied) return this.#tell(outcome!.job, report);
        job = outcome!.now;
      } else {
        const back = held ? undefined : await this.#back(call, job, attempt);
        if (!back) return this.#dropped(call, { id, report, attempt }, job);
        const [outcome]: Outcome[] = await this.#queue.apply([back]);
        mine = outcome!.applied;
        job = outcome!.applied ? outcome!.job : outcome!.now;
        // The remembered earlier hold is out of date, even if both are the same attempt.
        if (mine && report.kind === "progress") session.begun.set(id, { job: job!, nextChunk: undefined });
      }
    }
  }

  /** A repeated result from the holder is nothing new. A result from another worker or an earlier attempt is counted. */
  #dropped({ endpoint, worker }: WorkerCall, { report, attempt }: Reported, job: Job): void {
    const isOwn = job.holder === worker && (attempt === undefined || attempt === job.attempt);
    if (report.kind === "end" && !isOwn) this.#stale.set(endpoint, this.staleReports(endpoint) + 1);
  }

  #tell(job: Job, report: Report): void {
    if (jobLifecycle.isFinal(job.state) && report.kind === "end") this.#waiters.tell({ job, result: report.result });
    else if (job.state === "IN_QUEUE") this.#waiters.returned(job.endpoint);
  }

  async #claimBack(call: WorkerCall, session: Session, id: string, attempt?: number): Promise<void> {
    const job = await this.#read(call, id);
    const change = job && (await this.#back(call, job, attempt));
    if (!change) return;
    const [outcome] = await this.#queue.apply([change]);
    if (outcome!.applied) session.begun.set(id, { job: outcome!.job, nextChunk: undefined });
  }

  async #back(call: WorkerCall, job: Job, attempt: number | undefined): Promise<JobChange | undefined> {
    const back = claimingBack(job, call.worker, this.#clock.now(), attempt);
    return back && (await this.#own.mayResume(call, job)) ? back : undefined;
  }

  /** Resumes a streaming job that began on another node or before this node started. */
  async #resume(call: WorkerCall, session: Session, id: string, attempt?: number): Promise<Begun | undefined> {
    const job = await this.#read(call, id);
    if (job?.state !== "IN_PROGRESS" || job.holder !== call.worker) await this.#claimBack(call, session, id, attempt);
    else if (session.begun.get(id)?.job.attempt !== job.attempt) session.begun.set(id, { job, nextChunk: undefined });
    return session.begun.get(id);
  }

  /** Takes any number of jobs in one write from a worker that is not running them. */
  async #endOrReturn(session: Session, changes: JobChange[]): Promise<void> {
    for (const { id } of changes) session.begun.delete(id);
    for (const outcome of changes.length > 0 ? await this.#queue.apply(changes) : []) {
      if (!outcome.applied) continue;
      const { job } = outcome;
      if (job.state === "IN_QUEUE") this.#waiters.returned(job.endpoint);
      else this.#waiters.tell({ job, result: undefined });
    }
  }

  async #read({ endpoint }: WorkerCall, id: string): Promise<Job | undefined> {
    const reading = await this.#queue.read(id, this.#clock.now());
    return typeof reading === "object" && reading.job.endpoint === endpoint ? reading.job : undefined;
  }
}
