/** A whole world from one seed: a server with its disk, workers, clients, a network, a clock, and one scheduler for everything. */
import type { Engine } from "../../src/jobs/engine.ts";
import { isProblem } from "../../src/kernel/problem.ts";
import { SeededRandom } from "../../src/kernel/random.ts";
import type { Journal } from "../../src/ports/queue/journal.ts";
import type { Queue } from "../../src/ports/queue/queue.ts";
import type { Signals } from "../../src/ports/signals/signals.ts";
import { Client } from "./clients.ts";
import { type Disk, type DiskKind, openDisk, overriding } from "./disk.ts";
import { History } from "./history.ts";
import { Ledger } from "./ledger.ts";
import type { Run } from "./legal.ts";
import { changed, type Mix, type MixChange, mixOf, quiet } from "./mix.ts";
import { Server } from "./server.ts";
import { Standstill } from "./standstill.ts";
import { Timeline } from "./timeline.ts";
import { Trace } from "./trace.ts";
import { BatchedWorker, SingleWorker } from "./workers.ts";

/** A bug that is planted into the server from outside, to see that it is found. */
export interface Plant {
  journal?(journal: Journal): Journal;
  queue?(queue: Queue): Queue;
  signals?(signals: Signals): Signals;
  engine?(engine: Engine): void;
}

export interface Setting {
  seed: number;
  disk: DiskKind;
  plant?: Plant;
  mix?: MixChange;
  /** Ignores the server's own record, so that only the clients' views count. */
  onlyClients?: boolean;
}

const LARGE_JUMP_MS = 1_800_000;
const SMALL_JUMP_MS = 5000;
const BAD_TIME_MS = 10_000;
const LONGEST_QUIET_MS = 400_000;

/** Runs one world to its end and returns its trace. */
export async function simulate(setting: Setting): Promise<Trace> {
  const world = new World(setting);
  try {
    await world.run();
  } finally {
    world.server?.crash();
    world.disk.remove();
  }
  return world.trace;
}

export class World {
  readonly timeline = new Timeline();
  readonly trace: Trace;
  /** Receives violations of the rules for the server's own record. */
  readonly record: Trace;
  readonly ledger: Ledger;
  readonly history: History;
  readonly disk: Disk;
  readonly plant: Plant;
  /** The source of every choice of the scheduler. */
  readonly random: SeededRandom;
  /** The source of the server's own random numbers. */
  readonly ids: SeededRandom;
  readonly endpoints: string[];
  /** Open connections to the living server, each with the function that reports a crash to it. */
  readonly connections = new Map<AbortController, () => void>();
  mix: Mix;
  server: Server | undefined;
  isNetworkBad = false;
  hadFullDisk = false;
  readonly #runs = new Map<string, Run>();
  readonly #workers = new Set<SingleWorker | BatchedWorker>();
  readonly #clients: Client[] = [];
  /** Workers that are known to have ended. */
  readonly #ended = new Set<string>();
  readonly #standstill: Standstill;
  #workerCount = 0;
  #fullDisks = 0;
  #isDiskSlow = false;
  #isQuiet = false;
  #startDue = false;

  constructor({ seed, disk, plant = {}, mix = {}, onlyClients = false }: Setting) {
    this.random = new SeededRandom(seed);
    this.ids = new SeededRandom(seed + 1_000_000);
    this.mix = changed(mixOf(this.random), mix);
    this.plant = plant;
    this.endpoints = Array.from({ length: this.mix.endpoints }, (_, i) => `ep${i + 1}`);
    this.trace = new Trace(this.timeline, seed);
    this.#standstill = new Standstill(this.timeline, this.trace);
    this.record = onlyClients ? overriding(this.trace, { broken: () => undefined }) : this.trace;
    this.ledger = new Ledger(this.record, this.timeline, {
      wall: () => this.timeline.wall,
      highest: () => this.timeline.highest,
      runIn: (text) => this.#runIn(text),
      mayBeLost: (worker) => this.#ended.has(worker ?? "") || (this.server?.mayBeLost(worker ?? "") ?? false),
    });
    this.history = new History(this.trace, this.record, this.ledger);
    this.disk = openDisk(disk);
  }

  async run(): Promise<void> {
    this.server = await Server.start(this);
    this.#populate();
    for (const fault of Object.keys(this.mix.faults) as (keyof Mix["faults"])[]) this.#expect(fault);
    await this.#until(() => this.timeline.elapsed >= this.mix.seconds * 1000);
    await this.#calmDown();
    await this.#lookBack();
  }

  newWorkerName(): string {
    return `w${++this.#workerCount}`;
  }

  newRun(worker: string, begun: Pick<Run, "worker" | "job" | "attempt">): Run {
    const run = { ...begun, name: `${worker}#${this.#runs.size + 1}`, beganAtMs: this.timeline.elapsed };
    this.#runs.set(run.name, run);
    return run;
  }

  /** The server ends at once and loses what it had not flushed. Another one starts a little later. */
  crash(why: string): void {
    if (!this.server) return;
    this.trace.note(`the server crashes ${why}`);
    this.server.crash();
    this.server = undefined;
    this.ledger.lose();
    const resets = [...this.connections.values()];
    this.connections.clear();
    for (const reset of resets) reset();
    this.timeline.after(50 + this.random.below(this.#isQuiet ? 100 : 8000), () => {
      this.#startDue = true;
    });
  }

  /** The server notices that a caller is gone. */
  hangUp(gone: AbortController): void {
    if (this.connections.has(gone)) gone.abort();
  }

  #runIn(text: string): Run | undefined {
    return this.#runs.get(/w\d+#\d+/.exec(text)?.[0] ?? "");
  }

  /** At the end of a run no job takes long. */
  get isQuiet(): boolean {
    return this.#isQuiet;
  }

  flushMs(): number {
    return this.random.below(this.#isDiskSlow ? 4000 : this.mix.flushMs);
  }

  /** Whether the current flush finds the disk full. */
  takeFullDisk(): boolean {
    if (this.#fullDisks === 0) return false;
    this.#fullDisks--;
    return true;
  }

  async #until(isOver: () => unknown): Promise<void> {
    while (!isOver() && !this.trace.isBroken) {
      // Without an event, the world may wait for a real disk.
      if (await this.timeline.step()) this.#standstill.stepped(true);
      if (this.#startDue) {
        this.#startDue = false;
        this.server = await Server.start(this);
        this.trace.note("the server starts");
      }
      this.server?.checkWaiting();
    }
  }

  #populate(): void {
    const { singleWorkers, batchedWorkers, clients } = this.mix;
    for (const endpoint of this.endpoints) {
      for (let i = 0; i < singleWorkers; i++) this.#employ(new SingleWorker(this, endpoint));
      for (let i = 0; i < batchedWorkers; i++) this.#employ(new BatchedWorker(this, endpoint));
    }
    for (let i = 0; i < clients; i++) this.#clients.push(new Client(this, `c${i + 1}`));
    for (const client of this.#clients) client.begin();
  }

  #employ(worker: SingleWorker | BatchedWorker): void {
    this.#workers.add(worker);
    worker.begin();
  }

  #expect(fault: keyof Mix["faults"]): void {
    const rate = this.mix.faults[fault];
    if (rate === 0) return;
    this.timeline.after(this.random.below(200_000 / rate), () => {
      if (this.#isQuiet) return;
      this.#happen(fault);
      this.#expect(fault);
    });
  }

  #happen(fault: keyof Mix["faults"]): void {
    const { random, timeline } = this;
    const faults: { [name in keyof Mix["faults"]]: () => void } = {
      crash: () => this.crash("by itself"),
      kill: () => this.#kill(random.pick([...this.#workers])),
      pause: () => this.#pause(random.pick([...this.#workers])),
      smallJump: () => this.#jump(SMALL_JUMP_MS),
      largeJump: () => this.#jump(LARGE_JUMP_MS),
      fullDisk: () => {
        this.#fullDisks += 1 + random.below(3);
        this.hadFullDisk = true;
      },
      slowDisk: () => {
        this.#isDiskSlow = true;
        timeline.after(random.below(BAD_TIME_MS), () => {
          this.#isDiskSlow = false;
        });
      },
      badNetwork: () => {
        this.isNetworkBad = true;
        timeline.after(random.below(BAD_TIME_MS), () => {
          this.isNetworkBad = false;
        });
      },
    };
    faults[fault]();
  }

  #pause(worker: SingleWorker | BatchedWorker): void {
    const ms = this.random.below(80_000);
    this.trace.note(`${worker.name} pauses for ${ms} ms`);
    worker.pause(ms);
  }

  /** A worker dies, and sometimes the server is told. Another worker takes its place under a new name. */
  #kill(worker: SingleWorker | BatchedWorker): void {
    const { random, timeline, trace } = this;
    const { call, name } = worker;
    trace.note(`${name} dies`);
    worker.kill();
    this.#workers.delete(worker);
    if (random.chance(0.5)) {
      timeline.after(random.below(3000), () => {
        this.#ended.add(call.worker);
        // A full disk refuses this too. The worker is then lost when it was silent for long enough.
        this.server?.ended(call).catch((error: unknown) => {
          if (!isProblem(error, "unavailable")) trace.broken(`a worker's end was not taken: ${(error as Error).stack}`);
        });
      });
    }
    const Kind = worker instanceof SingleWorker ? SingleWorker : BatchedWorker;
    this.#employ(new Kind(this, call.endpoint));
  }

  #jump(mostMs: number): void {
    const ms = this.random.below(2 * mostMs) - mostMs;
    this.trace.note(`the clock jumps by ${ms} ms`);
    this.timeline.jump(ms);
  }

  /** Nothing goes wrong any more, and every accepted job must end. */
  async #calmDown(): Promise<void> {
    this.trace.note("it becomes quiet");
    this.#isQuiet = true;
    this.#fullDisks = 0;
    this.#isDiskSlow = false;
    this.isNetworkBad = false;
    this.mix = { ...this.mix, ...quiet };
    for (const client of this.#clients) client.kill();
    this.timeline.jump(this.timeline.highest - this.timeline.wall);
    for (const endpoint of this.endpoints) this.#employ(new SingleWorker(this, endpoint));
    const endMs = this.timeline.elapsed + LONGEST_QUIET_MS;
    await this.#until(() => this.timeline.elapsed >= endMs || (this.server && this.ledger.unfinished.size === 0));
    for (const { id } of this.ledger.unfinished) this.trace.broken("has no end", id);
  }

  /** Reads every accepted job once more, and compares the counters with the disk. */
  async #lookBack(): Promise<void> {
    if (this.trace.isBroken) return;
    const reader = new Client(this, "reader");
    let left = this.history.accepted.size;
    for (const id of this.history.accepted) void reader.look(this.ledger.track(id).endpoint, id).then(() => left--);
    // A request that was under way for long may have made one more job meanwhile.
    await this.#until(() => left === 0 && this.server && this.ledger.unfinished.size === 0);
    if (this.trace.isBroken) return;
    for (const id of this.history.accepted) {
      // Only numbered chunks are checked. Without a number, a repeated chunk may come from a network that delivers it twice.
      const chunks = (await this.server!.chunks(id)).filter((text) => this.#runIn(text)?.attempt !== undefined);
      if (new Set(chunks).size < chunks.length) this.trace.broken(`has a chunk twice: ${chunks.join()}`, id);
    }
    for (const endpoint of this.endpoints) {
      const { inQueue, inProgress, completed, failed } = await this.server!.counts(endpoint);
      const told = JSON.stringify({ inQueue, inProgress, completed, failed });
      const real = JSON.stringify(this.ledger.counts(endpoint));
      if (told !== real) this.trace.broken(`the counters say ${told}, but it is ${real}`);
    }
  }
}
