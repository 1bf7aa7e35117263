/** The job engine as its workers see it: take, report, stream, ping, stop. */
import type { Clock } from "../kernel/clock.ts";
import type { Gone } from "../kernel/gone.ts";
import type { Reason } from "../kernel/reason.ts";
import { inSlices } from "../kernel/slices.ts";
import { type Job, jobLifecycle } from "../ports/queue/job.ts";
import type { Chunk, Claimed, JobChange, Outcome, Queue } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";
import type { EngineParts } from "./engine.ts";
import { changeReported, claimingBack, failing, givingUp, handingBack } from "./moves.ts";
import { Overruns } from "./overruns.ts";
import { TAKEN_BYTES } from "./payload-limits.ts";
import { Pollers } from "./pollers.ts";
import type { Report } from "./report.ts";
import { type Begun, isStuck, isWithheld, listsAreTrusted, omittedTwice, type Session, Sessions } from "./sessions.ts";
import { LOST_AFTER_MS, OpenQuestion } from "./silence.ts";
import { StopCalls } from "./stop-calls.ts";
import { lastSequence } from "./stream.ts";
import type { Waiters } from "./waiters.ts";
import { beginWarmUp, nobodyWarmsUp, noticeWarmUp, reportWarmUp, type WarmUps, warmUpId } from "./warm-up.ts";
import { Withheld } from "./withheld.ts";
import { nobodyKeepsWorkers, type Taking, type WorkerCall, type WorkerEvents } from "./worker-events.ts";

export type { WorkerCall };

export interface Reported {
  id: string;
  report: Report;
  /** Our own worker library says which attempt it reports; others cannot. */
  attempt?: number;
}

/** A post of a streaming job. Our own worker library says which of an attempt's posts it is, counted from 1; others cannot. */
export interface Streamed {
  id: string;
  /** The chunks that it becomes. */
  chunks: readonly string[];
  numbered?: { attempt: number; sequence: number };
}

/** A drained worker asks again at once whenever it is answered; it is about to be ended, and must not be kept waiting for long. */
const DRAINED_HOLD_MS = 1000;

/** Jobs that this node does not remember are looked for on the disk, so many before everybody else gets their turn. */
const LOOKED_FOR_AT_ONCE = 50;

/** How often a report is tried against a job that changes under it. */
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

  constructor(parts: EngineParts & { waiters: Waiters; events?: WorkerEvents; warmUps?: WarmUps }) {
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
  }

  /** Up to `limit` jobs, waiting up to `waitMs` for the first. A worker that is gone by then costs the job nothing. */
  async take(call: WorkerCall, { limit, waitMs, gone, admit }: Taking): Promise<Claimed[]> {
    const session = this.#heard(call);
    const { round } = session;
    const untilMs = this.#clock.monotonic() + holdOf(session, waitMs);
    using place = this.#pollers.join(call.endpoint, call.worker);
    using open = new OpenQuestion(this.#clock, () => this.#renew(call));
    do {
      if (gone.aborted || this.#pollers.closed || session.round !== round) break;
      if (isWithheld(session)) {
        place.passOn();
        continue;
      }
      const first = session.isWarm ? undefined : await beginWarmUp(this.#warmUps, call, session, this.#clock.now());
      if (first === "wait") {
        place.passOn();
        continue;
      }
      const claimed = first ? [first] : await this.#claim(call, session, { limit, admit });
      if (claimed.length === 0) {
        // What it was called for may be something that it must not have: then others are.
        if (session.listed.size > 0) place.passOn();
        continue;
      }
      // It may have waited for longer than a silent worker is believed to live.
      this.#heard(call);
      if (!gone.aborted && session.round === round) return claimed;
      const jobs = claimed.map(({ job }) => job);
      await this.handBack(call, jobs);
    } while (await open.during(place.woken(untilMs, gone)));
    if (!gone.aborted && session.round === round) this.#heard(call);
    return [];
  }

  /** Returns jobs that the worker never got to see. */
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

  /** Ends a job that was taken and cannot be handed to any worker. */
  async fail({ endpoint, worker }: WorkerCall, job: Job, reason: Reason): Promise<void> {
    const session = this.#sessions.of(worker, endpoint, this.#clock.monotonic());
    await this.#endOrReturn(session, [failing(job, undefined, this.#clock.now(), { reason })]);
  }

  /** Results and progress. A report that comes late, twice or from someone else changes nothing. */
  async report(call: WorkerCall, given: Reported[]): Promise<void> {
    const session = this.#heard(call);
    const reports = session.isWarm ? given : await reportWarmUp(this.#warmUps, call, given);
    const known = reports.map((one) => this.#begun(session, call.worker, one));
    const now = this.#clock.now();
    const changes: JobChange[] = [];
    for (const [i, one] of reports.entries()) if (known[i]) changes.push(changeReported(known[i], one.report, now));
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
        // It is no longer busy with this one, whatever its last ping said.
        if (isEnd) session.listed.delete(one.id);
        this.#tell(outcome.job, one.report);
      } else others.push({ one, refused: outcome });
    }
    // Last, since they take more writes: nobody who waits for one of the others waits for that too.
    await inSlices(others, LOOKED_FOR_AT_ONCE, async ({ one, refused }) => {
      await this.#reportAnew(call, session, one, refused);
      // Nor with these; where one waits for a worker, it may now be for this one.
      if (one.report.kind === "end" && session.listed.delete(one.id)) this.#signals.emit(`work:${call.endpoint}`);
    });
    if (reports.some(({ report }) => report.kind === "end" && report.refresh)) this.#events.tired(call);
  }

  /** Chunks of a streaming job, in the order in which they come. A numbered post that comes twice is kept once. */
  async stream(call: WorkerCall, { id, chunks: posted, numbered }: Streamed): Promise<void> {
    const session = this.#heard(call);
    const isMeant = (begun: Begun | undefined) => !numbered || begun?.job.attempt === numbered.attempt;
    let begun = session.begun.get(id);
    if (!begun || !isMeant(begun)) begun = await this.#resume(call, session, id, numbered?.attempt);
    if (!begun || !isMeant(begun)) return;
    if (begun.nextChunk === undefined) {
      const last = await lastSequence(this.#queue, id, begun.job.attempt);
      // Asked again, since two posts may have looked at once: the second goes on behind the first.
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

  /** Alive, and busy with the jobs it lists; those it should have and does not list twice in a row go to others. */
  async ping(call: WorkerCall, listed: ReadonlySet<string>, sdkVersion?: string): Promise<void> {
    const session = this.#heard(call);
    session.told.clear();
    if (!listsAreTrusted(sdkVersion)) return;
    await noticeWarmUp(this.#warmUps, call, session, listed);
    const listedBefore = session.listed;
    session.listed = new Set(listed);
    session.listed.delete(warmUpId(call));
    const held = await this.#queue.held(call.worker);
    const lost = omittedTwice(session, held, listed, this.#clock.monotonic());
    await this.#endOrReturn(session, givingUp(lost, call.worker, this.#clock.now()));
    const holds = new Set(held.map(({ id }) => id));
    const others = [...listed].filter((id) => !holds.has(id));
    await inSlices(others, LOOKED_FOR_AT_ONCE, (id) => this.#claimBack(call, session, id));
    // A job that waits, and that this worker could not have while it listed it, may now be for it.
    if ([...listedBefore].some((id) => !listed.has(id))) this.#signals.emit(`work:${call.endpoint}`);
    const stops = await this.overruns.toStop(call, session);
    if (stops.length > 0) this.#signals.emit(`stop:${call.worker}`);
    if (isStuck(session, stops.length > 0 && holds.size === 0, this.#clock.monotonic())) this.#events.stuck(call);
  }

  /** Jobs that the worker must stop, waiting up to `waitMs` for the first. */
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

  /** Results from workers that did not have the job, counted since this node started. */
  staleReports(endpoint: string): number {
    return this.#stale.get(endpoint) ?? 0;
  }

  /**
   * The worker's process has ended, or will do nothing more: nobody waits for its silence. `orderly` means that it was not its jobs'
   * fault: they go back as if they had never begun.
   */
  async ended(call: WorkerCall, how = "was lost", orderly = false): Promise<void> {
    const { worker, endpoint } = call;
    const session = this.#sessions.of(worker, endpoint, this.#clock.monotonic());
    const jobs = await this.#queue.held(worker);
    const lost = jobs.map((job) => ({ job, why: `${how} while processing the job` }));
    if (orderly) await this.handBack(call, jobs);
    else await this.#endOrReturn(session, givingUp(lost, worker, this.#clock.now()));
    this.#sessions.forget(worker);
    await this.#queue.retire(worker);
  }

  async unfit(...[call, reason]: Parameters<WorkerEvents["unfit"]>): Promise<void> {
    await this.ended(call, "said that it is not fit");
    this.#events.unfit(call, reason);
  }

  drain(call: WorkerCall): Promise<boolean> {
    return this.withheld.drain(call);
  }

  /** What is known of this worker has changed: what it asked for is looked at once more. */
  lookAgain({ endpoint, worker }: WorkerCall): void {
    this.#pollers.call(endpoint, worker);
  }

  /** Whether a worker of this endpoint waits here, and was called for no job yet. */
  hasFree(endpoint: string): boolean {
    return this.#pollers.hasFree(endpoint);
  }

  /** When the worker last took or ended a job here; undefined for one that was never heard of. */
  activeAt(worker: string): number | undefined {
    return this.#sessions.find(worker)?.activeAt;
  }

  /** From now on nothing is handed out, and everyone who waits is let go. */
  close(): void {
    this.#pollers.close();
    this.#stopCalls.close();
  }

  async #claim(
    { endpoint, worker }: WorkerCall,
    session: Session,
    { limit, admit }: Pick<Taking, "limit" | "admit">,
  ): Promise<Claimed[]> {
    const fair = limit === 1 ? 1 : await this.#fairShare(endpoint, limit);
    if (isWithheld(session)) return [];
    const now = this.#clock.now();
    const except = [...session.listed];
    const ask = { endpoint, holder: worker, limit: fair, bytes: TAKEN_BYTES, now, except, ...(admit ? { admit } : {}) };
    const asked = this.#queue.claim(ask);
    session.claims.add(asked);
    try {
      const claimed = await asked;
      if (claimed.length > 0) session.activeAt = ask.now;
      for (const { job } of claimed) session.begun.set(job.id, { job, nextChunk: 1 });
      return claimed;
    } finally {
      session.claims.delete(asked);
    }
  }

  /** With several workers waiting, one that asks for many gets its share and not everything. */
  async #fairShare(endpoint: string, limit: number): Promise<number> {
    const workers = this.#pollers.workers(endpoint);
    if (workers <= 1) return limit;
    const { inQueue } = await this.#queue.counts(endpoint);
    return Math.max(1, Math.min(limit, Math.ceil(inQueue / workers)));
  }

  #renew({ worker, endpoint }: WorkerCall): void {
    // Not awaited: being alive is worth nothing on the disk.
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

  /** The job as it was handed out here, when this report can be about that. */
  #begun(session: Session, worker: string, { id, attempt }: Reported): Job | undefined {
    const job = session.begun.get(id)?.job;
    return job?.holder === worker && (attempt === undefined || attempt === job.attempt) ? job : undefined;
  }

  /** The slow way, for reports about jobs that are not as this node remembers them. */
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
        const [outcome]: Outcome[] = await this.#queue.apply([changeReported(job, report, this.#clock.now())]);
        if (outcome!.applied) return this.#tell(outcome!.job, report);
        job = outcome!.now;
      } else {
        const back = held ? undefined : claimingBack(job, call.worker, this.#clock.now(), attempt);
        if (!back) return this.#dropped(call, { id, report, attempt }, job);
        const [outcome]: Outcome[] = await this.#queue.apply([back]);
        mine = outcome!.applied;
        job = outcome!.applied ? outcome!.job : outcome!.now;
        // What is remembered of an earlier hold is out of date, even when both are the same attempt.
        if (mine && report.kind === "progress") session.begun.set(id, { job: job!, nextChunk: undefined });
      }
    }
  }

  /** The holder's own result that comes again is nothing new; one from anybody else, or of an earlier attempt, is counted. */
  #dropped({ endpoint, worker }: WorkerCall, { report, attempt }: Reported, job: Job): void {
    const isOwn = job.holder === worker && (attempt === undefined || attempt === job.attempt);
    if (report.kind === "end" && !isOwn) this.#stale.set(endpoint, this.staleReports(endpoint) + 1);
  }

  #tell(job: Job, report: Report): void {
    if (jobLifecycle.isFinal(job.state) && report.kind === "end") this.#waiters.tell({ job, result: report.result });
    else if (job.state === "IN_QUEUE") this.#signals.emit(`work:${job.endpoint}`);
  }

  async #claimBack(call: WorkerCall, session: Session, id: string, attempt?: number): Promise<void> {
    const job = await this.#read(call, id);
    const change = job && claimingBack(job, call.worker, this.#clock.now(), attempt);
    if (!change) return;
    const [outcome] = await this.#queue.apply([change]);
    if (outcome!.applied) session.begun.set(id, { job: outcome!.job, nextChunk: undefined });
  }

  /** A streaming job that began before this node did, or on another one. */
  async #resume(call: WorkerCall, session: Session, id: string, attempt?: number): Promise<Begun | undefined> {
    const job = await this.#read(call, id);
    if (job?.state !== "IN_PROGRESS" || job.holder !== call.worker) await this.#claimBack(call, session, id, attempt);
    else if (session.begun.get(id)?.job.attempt !== job.attempt) session.begun.set(id, { job, nextChunk: undefined });
    return session.begun.get(id);
  }

  /** Takes jobs from a worker that is not at them, however many it had in one write. */
  async #endOrReturn(session: Session, changes: JobChange[]): Promise<void> {
    for (const { id } of changes) session.begun.delete(id);
    for (const outcome of changes.length > 0 ? await this.#queue.apply(changes) : []) {
      if (!outcome.applied) continue;
      const { job } = outcome;
      if (job.state === "IN_QUEUE") this.#signals.emit(`work:${job.endpoint}`);
      else this.#waiters.tell({ job, result: undefined });
    }
  }

  async #read({ endpoint }: WorkerCall, id: string): Promise<Job | undefined> {
    const reading = await this.#queue.read(id, this.#clock.now());
    return typeof reading === "object" && reading.job.endpoint === endpoint ? reading.job : undefined;
  }
}

const holdOf = ({ drained }: Session, waitMs: number) => (drained ? Math.min(waitMs, DRAINED_HOLD_MS) : waitMs);
