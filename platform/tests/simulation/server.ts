/** One life of the server: the real engine, worker desk, sweeper and queue, from a start to a crash. */

import type { Flushed } from "../../src/adapters/sqlite/writer.ts";
import { Engine, type Submission } from "../../src/jobs/engine.ts";
import { LOST_AFTER_MS } from "../../src/jobs/silence.ts";
import { Sweeper } from "../../src/jobs/sweeper.ts";
import { type Reported, type Streamed, type WorkerCall, WorkerDesk } from "../../src/jobs/worker-desk.ts";
import { isProblem } from "../../src/kernel/problem.ts";
import { EmbeddedQueue } from "../../src/ports/queue/embedded-queue.ts";
import { jobLifecycle } from "../../src/ports/queue/job.ts";
import type { Entry, Journal } from "../../src/ports/queue/journal.ts";
import type { Claimed, Queue } from "../../src/ports/queue/queue.ts";
import { MemorySignals } from "../../src/ports/signals/memory-signals.ts";
import { withStandbys } from "../standby-queue.ts";
import { type Opened, overriding } from "./disk.ts";
import type { View } from "./history.ts";
import { ProcessClock } from "./timeline.ts";
import type { World } from "./world.ts";

const SLOWEST_READ_MS = 8000;

const never = <T>() => new Promise<T>(() => undefined);

interface Take {
  call: WorkerCall;
  gone: AbortSignal;
  /**
   * Whether the take began before a failed write. Such a write may return jobs to the queue silently; a worker that already waited finds
   * them when it asks again.
   */
  before: boolean;
  /** Whether its worker has ended since. It is answered then, at the latest when a job that came to it is handed back. */
  released: boolean;
}

export class Server {
  readonly #world: World;
  readonly #clock: ProcessClock;
  readonly #startedAt: number;
  readonly #heardAt = new Map<string, number>();
  readonly #takes = new Set<Take>();
  readonly #waits = new Set<string>();
  /** Slow reads of the parts of jobs. */
  readonly #reading = new Set<{ id: string }>();
  /** Workers for which jobs are about to begin. */
  readonly #begins = new Set<{ worker: string }>();
  /** The jobs that each worker reports as its own. */
  readonly #listed = new Map<string, Set<string>>();
  #opened: Opened | undefined;
  #engine!: Engine;
  #desk!: WorkerDesk;
  #queue!: Queue;
  isDead = false;

  private constructor(world: World) {
    this.#world = world;
    this.#clock = new ProcessClock(world.timeline);
    this.#startedAt = world.timeline.elapsed;
  }

  static async start(world: World): Promise<Server> {
    const server = new Server(world);
    const { plant } = world;
    server.#opened = await world.disk.open((batch, commit) => server.#flush(batch, commit));
    const journal = server.#recorded(server.#opened.journal);
    const embedded = new EmbeddedQueue(plant.journal?.(journal) ?? journal, server.#clock);
    const watched = server.#watched(embedded);
    const queue = world.mix.beginsAtOnce ? server.#beginning(withStandbys(watched)) : watched;
    server.#queue = plant.queue?.(queue) ?? queue;
    const signals = new MemorySignals();
    const failed = (error: unknown, duty: string) => {
      if (!isProblem(error, "unavailable")) world.trace.broken(`the duty "${duty}" failed: ${(error as Error).stack}`);
    };
    const parts = {
      queue: server.#queue,
      signals: plant.signals?.(signals) ?? signals,
      clock: server.#clock,
      random: world.ids,
      failed,
    };
    server.#engine = new Engine(parts);
    plant.engine?.(server.#engine);
    server.#desk = new WorkerDesk({ ...parts, waiters: server.#engine.waiters });
    new Sweeper({ ...parts, engine: server.#engine });
    return server;
  }

  /** Ends this life at once: none of its timers, writes or answers happen any more. */
  crash(): void {
    this.isDead = true;
    this.#clock.stop();
    this.#opened?.crashed();
  }

  mayBeLost(worker: string): boolean {
    return (this.#heardAt.get(worker) ?? this.#startedAt) + LOST_AFTER_MS <= this.#world.timeline.elapsed;
  }

  /** Runs after everything has settled: nobody may wait for something that is already there. */
  checkWaiting(): void {
    const { ledger, record } = this.#world;
    for (const { call, gone, before, released } of this.#takes) {
      if (gone.aborted || before || released || this.#isGivenOne(call.worker)) continue;
      const job = ledger.waiting(call.endpoint, this.#listed.get(call.worker));
      if (job) record.broken(`waits in the queue while ${call.worker} waits for work`, job.id);
    }
    for (const id of this.#waits) {
      const track = ledger.tracks.get(id);
      // Whoever waits is told with the result, once that is read.
      if (!track || track.unanswered > 0 || this.#isRead(id)) continue;
      const state = track.durable?.job.state;
      if (track.removed === "purged" || (state && jobLifecycle.isFinal(state)))
        record.broken(`is ${state ?? "purged"}, and whoever waits for that was not told`, id);
    }
  }

  async submit(submission: Submission): Promise<View> {
    const job = await this.#engine.submit(submission);
    return this.#show({ id: job.id, job });
  }

  async submitAndWait(submission: Submission, waitMs: number, gone: AbortSignal): Promise<View> {
    const id = this.#engine.newId(submission.mode);
    this.#waits.add(id);
    try {
      const { job, result } = await this.#engine.submitAndWait({ ...submission }, { waitMs, gone }, id);
      const text = result as string | undefined;
      // A purged job has no record. The engine reports it as CANCELLED.
      if (job.policy.retentionMs === 0) return this.#show({ id: job.id });
      return this.#show({ id: job.id, job, ...(jobLifecycle.isFinal(job.state) ? { result: { text } } : {}) });
    } finally {
      this.#waits.delete(id);
    }
  }

  read(endpoint: string, id: string): Promise<View> {
    return this.#view(id, async () => {
      const { job, result } = await this.#engine.read(endpoint, id, ["result"]);
      return {
        id,
        job,
        ...(jobLifecycle.isFinal(job.state) ? { result: { text: result as string | undefined } } : {}),
      };
    });
  }

  cancel(endpoint: string, id: string): Promise<View> {
    this.#world.ledger.track(id).asked.cancel++;
    return this.#view(id, async () => ({ id, job: await this.#engine.cancel(endpoint, id, true) }));
  }

  retry(endpoint: string, id: string): Promise<View> {
    this.#world.ledger.track(id).asked.retry++;
    return this.#view(id, async () => ({ id, job: await this.#engine.retry(endpoint, id) }));
  }

  shorten(endpoint: string, id: string, ttlMs: number): Promise<View> {
    this.#world.ledger.track(id).asked.shortenings.push(ttlMs);
    return this.#view(id, async () => {
      const { job } = await this.#engine.read(endpoint, id);
      await this.#engine.shorten(endpoint, id, ttlMs);
      return { id, job };
    });
  }

  async purge(endpoint: string): Promise<number> {
    this.#world.ledger.purgesAsked++;
    return this.#engine.purge(endpoint);
  }

  counts(endpoint: string) {
    return this.#engine.counts(endpoint);
  }

  async take(call: WorkerCall, ask: { limit: number; waitMs: number }, gone: AbortSignal): Promise<Claimed[]> {
    this.#heard(call);
    const take: Take = { call, gone, before: false, released: false };
    this.#takes.add(take);
    try {
      const claimed = await this.#desk.take(call, { ...ask, gone });
      const jobs = claimed.map(({ job }) => job);
      if (!gone.aborted) {
        this.#heard(call);
        for (const job of jobs) this.#handOut(job.id, job.attempt, call.worker);
        return claimed;
      }
      if (jobs.length > 0) await this.#desk.handBack(call, jobs);
      return [];
    } finally {
      this.#takes.delete(take);
    }
  }

  async report(call: WorkerCall, reports: Reported[]): Promise<void> {
    this.#heard(call);
    await this.#desk.report(call, reports);
    for (const { id, report } of reports) if (report.kind === "end") this.#listed.get(call.worker)?.delete(id);
  }

  async stream(call: WorkerCall, post: Streamed): Promise<void> {
    this.#heard(call);
    await this.#desk.stream(call, post);
  }

  async chunks(id: string): Promise<string[]> {
    return (await this.#queue.chunks(id, { attempt: 0, sequence: 0 }, 1000)).map(({ text }) => text);
  }

  async ping(call: WorkerCall, listed: ReadonlySet<string>): Promise<void> {
    this.#heard(call);
    this.#listed.set(call.worker, new Set(listed));
    await this.#desk.ping(call, listed, "1.12.0");
  }

  async stops(call: WorkerCall, waitMs: number, gone: AbortSignal): Promise<string[]> {
    this.#heard(call);
    const ids = await this.#desk.stops(call, { waitMs, gone });
    for (const id of ids) {
      const job = this.#world.ledger.track(id).durable?.job;
      if (!this.isDead && job?.state === "IN_PROGRESS" && job.holder === call.worker)
        this.#world.record.broken(`${call.worker} was told to stop it, but on the disk it still has it`, id);
    }
    return ids;
  }

  async ended(call: WorkerCall): Promise<void> {
    this.#heardAt.set(call.worker, Number.NEGATIVE_INFINITY);
    for (const take of this.#takes) if (take.call.worker === call.worker) take.released = true;
    await this.#desk.ended(call);
  }

  #heard({ worker }: WorkerCall): void {
    this.#heardAt.set(worker, this.#world.timeline.elapsed);
  }

  #handOut(id: string, attempt: number, worker: string): void {
    if (this.isDead) return;
    const { ledger, trace, record } = this.#world;
    const track = ledger.track(id);
    const other = track.handedOut.get(attempt);
    if (other) record.broken(`was handed out to ${other} and to ${worker}, both as attempt ${attempt}`, id);
    if (!track.durable) record.broken(`was handed out to ${worker} before it was on the disk`, id);
    track.handedOut.set(attempt, worker);
    trace.note(`handed out to ${worker}, attempt ${attempt}`, id);
  }

  /** A refusal because there is no such job also counts as an answer about it. */
  async #view(id: string, work: () => Promise<View>): Promise<View> {
    try {
      return this.#show(await work());
    } catch (error) {
      if (isProblem(error, "not-found")) return this.#show({ id });
      throw error;
    }
  }

  #show(view: View): View {
    if (!this.isDead) this.#world.history.shown(view);
    return view;
  }

  #recorded(journal: Journal): Journal {
    const { ledger } = this.#world;
    return overriding(journal, {
      write: async (entries) => {
        if (this.isDead) return never();
        ledger.decide(entries);
        const results = await journal.write(entries);
        if (this.isDead) return never();
        ledger.answer(entries);
        return results;
      },
      read: async (id, ...rest) => {
        await this.#slowly(id);
        const read = await journal.read(id, ...rest);
        await this.#slowly(id);
        return read;
      },
    });
  }

  /** Reading sometimes waits for memory or for the disk, while the job goes on. */
  async #slowly(id: string): Promise<void> {
    const { random, mix } = this.#world;
    if (!random.chance(mix.slowReads)) return;
    const reading = { id };
    this.#reading.add(reading);
    await new Promise<void>((resolve) => this.#clock.after(random.below(random.pick([20, SLOWEST_READ_MS])), resolve));
    this.#reading.delete(reading);
  }

  #isGivenOne(worker: string): boolean {
    for (const begins of this.#begins) if (begins.worker === worker) return true;
    return false;
  }

  #isRead(id: string): boolean {
    for (const reading of this.#reading) if (reading.id === id) return true;
    return false;
  }

  #watched(queue: Queue): Queue {
    return overriding(queue, {
      claim: async (ask) => {
        const claimed = await queue.claim(ask);
        for (const { job } of claimed) {
          this.#world.ledger.track(job.id).taken.add(`${ask.holder}/${job.attempt}`);
          if (!this.isDead) this.#world.ledger.begin(job);
        }
        return claimed;
      },
    });
  }

  #beginning(queue: Queue): Queue {
    return overriding(queue, {
      standBy: (ask) =>
        queue.standBy!({
          ...ask,
          begin: (jobs) => {
            const begins = { worker: ask.holder };
            this.#begins.add(begins);
            ask.begin(jobs);
            void jobs.then(() => this.#begins.delete(begins));
          },
        }),
    });
  }

  /** The scheduler decides how long a flush takes, whether it succeeds, and whether the server lives to learn of it. */
  #flush(batch: Entry[], commit: () => Promise<Flushed>): Promise<Flushed> {
    if (this.isDead) return never();
    const { random, mix, trace, ledger } = this.#world;
    const crashBefore = random.chance(mix.flush.crashBefore);
    const crashAfter = random.chance(mix.flush.crashAfter);
    return new Promise((resolve) => {
      this.#clock.after(this.#world.flushMs(), async () => {
        if (crashBefore) return this.#world.crash("in a flush that is lost");
        if (this.#world.takeFullDisk()) {
          trace.note("a flush fails: the disk is full");
          for (const take of this.#takes) take.before = true;
          ledger.loseWrites();
          return resolve({ failed: "the disk is full" });
        }
        const flushed = await commit();
        if ("failed" in flushed) trace.broken(`a flush failed by itself: ${flushed.failed}`);
        ledger.commit(batch);
        if (crashAfter) return this.#world.crash("after a flush, before its answer");
        this.#clock.after(random.below(3), () => resolve(flushed));
      });
    });
  }
}
