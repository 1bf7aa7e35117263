/** The worker's loop: says what is done and takes new jobs, many of each in one request. */
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

/** Requests of each kind under way at once: while the server writes one batch down, the other is being worked on. */
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
  /** The most that one request takes: with two lanes, half of what may run at once. */
  readonly #share: number;
  /** Slots promised to requests under way. */
  #reserved = 0;
  /** Requests under way that report something. */
  #carrying = 0;
  /** Requests under way that wait for work. */
  #holding = 0;
  #planned = false;
  #pauseMs = 0;
  #draining = false;
  #finish!: () => void;
  /** Resolves when nothing runs any more and the server has confirmed every result. */
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
    // The first job may be waiting already, so asking for it comes first.
    this.#pump();
    this.#background(this.#listenForStops());
    this.#background(this.#pingAgainAndAgain());
  }

  /** Takes nothing more; what runs is finished and reported. */
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

  /** Everything that ends in this turn shares one request. */
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
      // With nothing left that could end meanwhile, the same request may wait for work.
      const hold = this.#running.size === 0 && this.#holding < LANES;
      this.#background(this.#exchange(this.#outbox.takeBatch(), Math.min(this.#free, this.#share), hold));
    }
    while (this.#free > 0 && this.#holding < LANES) {
      this.#background(this.#exchange(undefined, Math.min(this.#free, this.#share), true));
    }
  }

  /** A fault of ours in one of them must not end the process, and with it every job that runs here. */
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
      // A held request that the worker itself let go of says nothing about the server.
      if (!(hold && this.#draining)) this.#pause(error as Error);
    }
    this.#reserved -= take;
    if (batch) this.#carrying--;
    if (hold) this.#holding--;
    for (const job of jobs) this.#begin(job);
    this.#plan();
  }

  /** The server is away: nothing is asked of it for a moment, longer each time. */
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
      await this.#link.ping(this.#busyWith());
      this.#pauseMs = 0;
      this.#plan();
    } catch {
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, paused * 2);
      if (!this.#isOver) this.#afterPause();
    }
  }

  #begin(job: Job): void {
    // The server gives a job again only when it has given up the run that is still going on here.
    this.#running.get(job.id)?.stop();
    const run = new JobRun(job, this.#runParts);
    this.#running.set(job.id, run);
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

  /** Says something again and again, until the server has heard it. */
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

  async #listenForStops(): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.#draining; ) {
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

  /** Alive, and busy with these jobs: the server gives a job to others when two of these lists in a row leave it out. */
  async #pingAgainAndAgain(): Promise<void> {
    let over = false;
    const ended = this.ended.then(() => {
      over = true;
    });
    while (!over) {
      await this.#link.ping(this.#busyWith()).catch(() => undefined);
      let timer: { cancel(): void } | undefined;
      const waited = new Promise<void>((resolve) => {
        timer = this.#clock.after(this.#parts.pingIntervalMs, resolve);
      });
      await Promise.race([waited, ended]);
      timer?.cancel();
      this.#link.endOverdue();
    }
  }

  #busyWith(): string[] {
    const running = [...this.#running.values()].filter(({ stopped }) => !stopped).map(({ job }) => job.id);
    return [...running, ...this.#outbox.unconfirmed];
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.after(ms, resolve));
  }
}
