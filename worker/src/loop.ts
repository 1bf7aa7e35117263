/** The worker's loop: reports results and takes new jobs, many of each in one request. */
import { type Clock, soon } from "./clock.ts";
import type { Handler, Job } from "./handler.ts";
import { JobRun, type RunParts } from "./job-run.ts";
import type { Link } from "./link.ts";
import { type Batch, LARGE_LENGTH, Outbox } from "./outbox.ts";
import type { Origin, Result } from "./result.ts";

export interface LoopParts {
  handler: Handler;
  concurrency: number;
  refresh: boolean;
  aggregate: boolean;
  link: Link;
  clock: Clock;
  origin: Origin;
  pingIntervalMs: number;
  log(message: string): void;
}

/** Two requests of each kind may be under way: while the server stores one batch, the worker works on the other. */
const LANES = 2;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;

export class Loop {
  readonly #parts: LoopParts;
  readonly #link: Link;
  readonly #clock: Clock;
  readonly #runParts: RunParts;
  readonly #running = new Map<string, JobRun>();
  readonly #outbox = new Outbox();
  /** The most that one request takes. With two lanes this is half of what may run at once. */
  readonly #share: number;
  /** Free slots that are reserved for requests under way. */
  #reserved = 0;
  /** Requests under way that report results or progress. */
  #carrying = 0;
  /** Requests under way that wait for work. */
  #holding = 0;
  #planned = false;
  #pauseMs = 0;
  #draining = false;
  /** Called when a job begins. */
  #begun = () => {};
  #finish!: () => void;
  /** Resolves when no job runs and the server has confirmed every result. */
  readonly ended = new Promise<void>((resolve) => {
    this.#finish = resolve;
  });

  constructor(parts: LoopParts) {
    this.#parts = parts;
    this.#link = parts.link;
    this.#clock = parts.clock;
    this.#share = Math.ceil(parts.concurrency / LANES);
    this.#runParts = {
      handler: parts.handler,
      origin: parts.origin,
      refresh: parts.refresh,
      aggregate: parts.aggregate,
      stream: (job, sequence, chunk) => this.#untilHeard(() => this.#link.stream(job, sequence, chunk)),
      progressed: (run, text) => this.#progressed(run, text),
      ended: (run, result) => this.#runEnded(run, result),
    };
  }

  start(): void {
    // The first job may already be waiting, so the worker asks for it first.
    this.#pump();
    this.#background(this.#listenForStops());
    this.#background(this.#pingAgainAndAgain());
  }

  /** Takes no more jobs. Running jobs are finished and reported. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#link.release();
    this.#plan();
  }

  get #free(): number {
    return this.#draining ? 0 : this.#parts.concurrency - this.#running.size - this.#reserved;
  }

  get #isOver(): boolean {
    return this.#draining && this.#running.size === 0 && this.#outbox.isDone && this.#reserved === 0;
  }

  /** All jobs that end in this turn of the event loop share one request. */
  #plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    soon(() => {
      this.#planned = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (this.#isOver) this.#finish();
    if (this.#isOver || this.#pauseMs > 0) return;
    while (this.#outbox.hasNews && this.#carrying < LANES) {
      // No job is running that could end meanwhile, so the same request may wait for work.
      const hold = this.#running.size === 0 && this.#holding < LANES;
      this.#background(this.#exchange(this.#outbox.takeBatch(), Math.min(this.#free, this.#share), hold));
    }
    while (this.#free > 0 && this.#holding < LANES) {
      this.#background(this.#exchange(undefined, Math.min(this.#free, this.#share), true));
    }
  }

  /** A bug of ours in background work must not end the process and all jobs that run in it. */
  #background(work: Promise<void>): void {
    work.catch((error: Error) => this.#parts.log(`an unforeseen fault: ${error.stack ?? error.message}`));
  }

  async #exchange(batch: Batch | undefined, take: number, wanted: boolean): Promise<void> {
    const hold = wanted && take > 0;
    this.#reserved += take;
    if (batch) this.#carrying++;
    if (hold) this.#holding++;
    let jobs: Job[] = [];
    try {
      jobs = await this.#link.exchange(batch?.lines ?? "", take, hold);
      this.#pauseMs = 0;
      if (batch) this.#outbox.confirm(batch.ends);
    } catch (error) {
      if (batch) this.#outbox.putBack(batch);
      // A held request that the worker itself released says nothing about the server.
      if (!(hold && this.#draining)) this.#pause(error as Error);
    }
    this.#reserved -= take;
    if (batch) this.#carrying--;
    if (hold) this.#holding--;
    for (const job of jobs) this.#begin(job);
    this.#plan();
  }

  /** The server is unavailable. The worker waits before it asks again, longer each time. */
  #pause(error: Error): void {
    if (this.#pauseMs > 0) return;
    this.#parts.log(`${error.message}; trying again`);
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#afterPause();
  }

  #afterPause(): void {
    const paused = this.#pauseMs;
    this.#clock.after(paused, () => this.#background(this.#tryAgain(paused)));
  }

  async #tryAgain(paused: number): Promise<void> {
    try {
      // The server may have started anew, and must not give these jobs to others before it has their results.
      await this.#link.ping(this.#busyWith(this.#outbox.unconfirmed));
      this.#pauseMs = 0;
      this.#plan();
    } catch {
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, paused * 2);
      if (!this.#isOver) this.#afterPause();
    }
  }

  #begin(job: Job): void {
    // The server hands out a job again only after it has given up the run that still goes on here.
    this.#running.get(job.id)?.stop();
    const run = new JobRun(job, this.#runParts);
    this.#running.set(job.id, run);
    this.#begun();
    run.begin();
  }

  #progressed({ job: { id, attempt } }: JobRun, text: string): void {
    this.#outbox.progress({ id, attempt, text });
    this.#plan();
  }

  #runEnded(run: JobRun, result: Result | undefined): void {
    const { id, attempt } = run.job;
    if (this.#running.get(id) === run) this.#running.delete(id);
    if (result?.refresh) this.drain();
    if (result) {
      if (result.text.length <= LARGE_LENGTH) this.#outbox.end({ id, attempt, text: result.text });
      else this.#background(this.#sendAside(id, attempt, result.text));
    }
    this.#plan();
  }

  async #sendAside(id: string, attempt: number, text: string): Promise<void> {
    this.#outbox.endAside({ id, attempt });
    await this.#untilHeard(() => this.#link.done({ id, attempt }, text));
    this.#outbox.confirm([{ id, attempt }]);
    this.#plan();
  }

  /** Repeats a request until the server has received it. */
  async #untilHeard(say: () => Promise<void>): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      try {
        return await say();
      } catch (error) {
        this.#parts.log(`${(error as Error).message}; trying again`);
        await this.#sleep(pauseMs);
      }
    }
  }

  /** Only a worker that runs jobs asks. After a thaw, the request for work must not wait for this one. */
  async #listenForStops(): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; ) {
      while (this.#running.size === 0) await this.#untilBegun();
      if (this.#draining) return;
      try {
        for (const id of await this.#link.stops()) this.#running.get(id)?.stop();
        pauseMs = FIRST_PAUSE_MS;
      } catch {
        if (this.#draining) return;
        await this.#sleep(pauseMs);
        pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      }
    }
  }

  #untilBegun(): Promise<void> {
    return new Promise((resolve) => {
      this.#begun = resolve;
    });
  }

  /**
   * Reports that the worker is alive and which jobs it runs. If two lists in a row leave out a job, the server gives it to others. The first
   * request for work already says that the worker is alive, so it does not share its first moments with a report.
   */
  async #pingAgainAndAgain(): Promise<void> {
    let over = false;
    let wake = () => {};
    const ended = this.ended.then(() => {
      over = true;
      wake();
    });
    while (!over) {
      const waited = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const timer = this.#clock.after(this.#parts.pingIntervalMs, wake);
      await waited;
      timer.cancel();
      this.#link.endOverdue();
      if (!over) await this.#link.ping(this.#busyWith(this.#outbox.late())).catch(() => undefined);
    }
    await ended;
  }

  #busyWith(ended: Iterable<string>): string[] {
    const running = [...this.#running.values()].filter(({ stopped }) => !stopped).map(({ job }) => job.id);
    return [...running, ...ended];
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve));
  }
}
