/** Simulated workers: one takes single jobs as the public worker package does, the other takes and reports many. */
import { holderName } from "../../src/jobs/holder.ts";
import { readReport } from "../../src/jobs/report.ts";
import type { Reported, Streamed, WorkerCall } from "../../src/jobs/worker-desk.ts";
import type { Claimed } from "../../src/ports/queue/queue.ts";
import type { Run } from "./legal.ts";
import { Process, request } from "./network.ts";
import type { World } from "./world.ts";

/** What a job's body asks its worker to do. */
export interface Input {
  failing?: boolean;
  long?: boolean;
  talking?: boolean;
}

const PING_MS = 10_000;
const HOLD_TAKE_MS = 20_000;
const HOLD_STOP_MS = 25_000;
const LONGEST_REQUEST_MS = 90_000;

abstract class Worker extends Process {
  readonly call: WorkerCall;
  /** The worker's current jobs, and whether each was told to stop. */
  protected readonly busy = new Map<string, { isStopped: boolean }>();

  constructor(world: World, endpoint: string) {
    super(world, world.newWorkerName());
    this.call = { endpoint, worker: holderName(endpoint, this.name) };
  }

  begin(): void {
    void this.#pingOften();
    void this.#listenForStops();
    void this.takeForever();
  }

  protected abstract takeForever(): Promise<void>;
  /** Sends the end of a run. */
  protected abstract finish(run: Run, text: string): Promise<void>;

  protected async work({ job, body }: Claimed, attempt?: number): Promise<void> {
    const { random, trace } = this.world;
    if (typeof body !== "string") return trace.broken("was handed out without its input", job.id);
    const { input } = JSON.parse(body) as { input: Input };
    const run = this.world.newRun(this.name, { worker: this.call.worker, job: job.id, attempt });
    const state = { isStopped: false };
    this.busy.set(job.id, state);
    trace.note(`${run.name} begins`, job.id);
    const workMs = random.below(input.long && !this.world.isQuiet ? 60_000 : random.pick([20, 3000]));
    if (input.talking) await this.#talk(run, workMs);
    else await this.sleep(workMs);
    if (state.isStopped) trace.note(`${run.name} stops`, job.id);
    else await this.finish(run, input.failing ? `{"error":"${run.name} failed"}` : `{"output":"${run.name}"}`);
    if (this.busy.get(job.id) === state) this.busy.delete(job.id);
  }

  /** Progress is sent without waiting and may arrive in any order, even after the end. Chunks are sent one after another. */
  async #talk({ name, job, attempt }: Run, workMs: number): Promise<void> {
    for (let part = 0; part < 3; part++) {
      await this.sleep(workMs / 3);
      const report = readReport(`{"status":"IN_PROGRESS","output":"${name} ${part}"}`);
      const reported: Reported = { id: job, report, ...(attempt === undefined ? {} : { attempt }) };
      void request(this, (server) => server.report(this.call, [reported]), LONGEST_REQUEST_MS);
      const numbered = attempt === undefined ? undefined : { attempt, sequence: part + 1 };
      await this.#stream({ id: job, chunks: [`{"output":"${name} ${part}"}`], numbered });
    }
  }

  /** Numbered chunks are sent again when no answer came. */
  async #stream(post: Streamed): Promise<void> {
    for (let tries = post.numbered ? 3 : 1; tries > 0; tries--) {
      const answer = await request(this, (server) => server.stream(this.call, post), 5000);
      if (typeof answer === "object" && "value" in answer) return;
    }
  }

  /** Pings even without a job: if a job was lost on its way to the worker, the server notices that the list does not contain it. */
  async #pingOften(): Promise<void> {
    for (;;) {
      const listed = new Set(this.busy.keys());
      void request(this, (server) => server.ping(this.call, listed), 2 * PING_MS);
      await this.sleep(PING_MS);
    }
  }

  async #listenForStops(): Promise<void> {
    for (;;) {
      const answer = await request(
        this,
        (server, gone) => server.stops(this.call, HOLD_STOP_MS, gone),
        LONGEST_REQUEST_MS,
      );
      const ids = typeof answer === "object" && "value" in answer ? answer.value : [];
      for (const id of ids) {
        const state = this.busy.get(id);
        if (state) state.isStopped = true;
      }
      await this.sleep(1000);
    }
  }
}

/** Takes one job at a time, names no attempts, and sends a result at most three times and only after a refusal. */
export class SingleWorker extends Worker {
  protected override async takeForever(): Promise<void> {
    for (;;) {
      const answer = await request(
        this,
        (server, gone) => server.take(this.call, { limit: 1, waitMs: HOLD_TAKE_MS }, gone),
        LONGEST_REQUEST_MS,
      );
      if (typeof answer === "object" && "value" in answer) for (const job of answer.value) await this.work(job);
      else await this.sleep(this.world.random.below(1000));
    }
  }

  protected override async finish({ job }: Run, text: string): Promise<void> {
    const reported: Reported = { id: job, report: readReport(text) };
    for (const waitMs of [2000, 3000, 0]) {
      const answer = await request(this, (server) => server.report(this.call, [reported]), LONGEST_REQUEST_MS);
      if (answer === "lost" || "value" in answer) return;
      await this.sleep(waitMs);
    }
  }
}

const ROOM = 3;

/** Takes several jobs at once and names their attempts. It sends results until the server has them, often together with a new take. */
export class BatchedWorker extends Worker {
  readonly #results: Reported[] = [];
  #isSending = false;

  protected override async takeForever(): Promise<void> {
    const { random } = this.world;
    for (;;) {
      const limit = ROOM - this.busy.size;
      if (limit === 0) {
        await this.sleep(500);
        continue;
      }
      const waitMs = random.pick([0, 5000, 60_000]);
      const sent = random.chance(0.5) ? [...this.#results] : [];
      const answer = await request(
        this,
        async (server, gone) => {
          if (sent.length > 0) await server.report(this.call, sent);
          return server.take(this.call, { limit, waitMs }, gone);
        },
        waitMs + 10_000,
      );
      if (typeof answer === "object" && "value" in answer) {
        this.#sent(sent);
        for (const one of answer.value) void this.work(one, one.job.attempt);
      }
      await this.sleep(random.below(waitMs === 0 ? 3000 : 100));
    }
  }

  protected override async finish({ job, attempt }: Run, text: string): Promise<void> {
    this.#results.push({ id: job, report: readReport(text), ...(attempt === undefined ? {} : { attempt }) });
    if (!this.#isSending) await this.#send();
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#results.length > 0) {
      const sent = [...this.#results];
      const answer = await request(this, (server) => server.report(this.call, sent), 10_000);
      if (typeof answer === "object" && "value" in answer) this.#sent(sent);
      else await this.sleep(1000);
    }
    this.#isSending = false;
  }

  #sent(results: Reported[]): void {
    for (const result of results) {
      const at = this.#results.indexOf(result);
      if (at >= 0) this.#results.splice(at, 1);
    }
  }
}
