/** The fleet plans for workers: it wakes on events, looks at everything once a second, and lets the planner decide. */

import type { Balancer } from "../../../balancing/balancer.ts";
import { workerOf } from "../../../jobs/holder.ts";
import type { Workforce } from "../../../jobs/wait-reason.ts";
import type { WorkerCall, WorkerDesk } from "../../../jobs/worker-desk.ts";
import type { WorkerEvents, WorkerNews } from "../../../jobs/worker-events.ts";
import { type Duty, every } from "../../../kernel/background.ts";
import type { Bell } from "../../../kernel/bell.ts";
import { type Clock, soon } from "../../../kernel/clock.ts";
import { type Failed, named } from "../../../kernel/failed.ts";
import { floating } from "../../../kernel/floating.ts";
import type { Log } from "../../../kernel/log.ts";
import { OneAtATime } from "../../../kernel/one-at-a-time.ts";
import type { Random } from "../../../kernel/random.ts";
import { because, type Reason } from "../../../kernel/reason.ts";
import type { House } from "../../../machines/house.ts";
import type { InstanceItem } from "../../../machines/instances.ts";
import type { Machines } from "../../../machines/machines.ts";
import type { Queue } from "../../../ports/queue/queue.ts";
import type { Signals } from "../../../ports/signals/signals.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { EndpointService } from "../../endpoints/service.ts";
import type { WorkerKeys } from "../../endpoints/worker-keys.ts";
import { asItIsNow } from "../hindrance.ts";
import type { WorkerRecords } from "../records.ts";
import type { Activity } from "./activity.ts";
import { Attention, isThawable, serves } from "./attention.ts";
import { callOf } from "./call.ts";
import type { EndpointBook } from "./endpoint-book.ts";
import { Planner, type PlannerParts, type Survey } from "./planner.ts";
import { Rounds } from "./rounds.ts";
import type { WorkerTrade } from "./trade.ts";
import { jobsOf, WaitReasons } from "./wait-reasons.ts";

export interface FleetParts extends Pick<PlannerParts, "frozen" | "makeRoom" | "quotas" | "spending"> {
  queue: Queue;
  signals: Signals;
  /** True if no other process plans or keeps workers. */
  alone: boolean;
  clock: Clock;
  random: Random;
  log: Log;
  failed: Failed;
  desk: WorkerDesk;
  balancer: Balancer;
  endpoints: EndpointService;
  records: WorkerRecords;
  keys: WorkerKeys;
  machines: Machines;
  house: House;
  trade: WorkerTrade;
  book: EndpointBook;
  activity: Activity;
  /** Rings with every instance whose machine has to act on its record. */
  toDo: Bell<InstanceItem>;
  bells: FleetBells;
  /** Only one of several nodes plans. */
  mine?: (now: number) => Promise<boolean>;
}

/** The bells that wake the fleet. Parts that exist before the fleet ring them. */
export interface FleetBells {
  /** Rings when a job was submitted to an endpoint. */
  wanted: Bell<string>;
  /** Rings when an endpoint was changed. */
  changed: Bell<string>;
  /** Rings when an endpoint may need another worker, because something happened to its workers or its load grew. */
  lacking: Bell<string>;
  /** Rings when a worker of this node begins or stops to take requests. */
  loads: Bell;
  news: WorkerNews;
}

const PLANNING = { name: "plan workers", everyMs: 1000 };
/** Keys younger than this may belong to workers whose records are about to be written. */
const YOUNG_KEY_MS = 10_000;

export class Fleet implements WorkerEvents, AsyncDisposable {
  readonly #parts: FleetParts;
  readonly #planner: Planner;
  readonly #book: EndpointBook;
  #ticking: Duty | undefined;
  readonly #stopListening: (() => void)[];
  readonly #attention: Attention;
  readonly #woken = new Set<string>();
  readonly #rounds: Rounds;
  #isPlanDue = false;
  #wasMine = false;
  readonly #reasons: WaitReasons;
  /** Plans run one after the other. Two at once would both start a worker for the same job. */
  readonly #planning = new OneAtATime();
  #ready: Promise<void> | undefined;
  #closed = false;

  constructor(parts: FleetParts) {
    this.#parts = parts;
    const { signals, machines, house, trade, activity, bells, toDo } = parts;
    this.#book = parts.book;
    this.#attention = new Attention(parts);
    const refusal = () => house.refusal();
    const progressOf = (id: string) => house.progressOf(id);
    this.#reasons = new WaitReasons({ ...parts, refusal, progressOf, silentSince: machines.silences.since });
    this.#planner = new Planner({
      ...parts,
      roll: () => machines.roll(),
      lastSeen: (machine) => machines.lastSeen(machine),
      activeAt: (endpoint, worker) => activity.of(endpoint, worker),
      act: toDo.ring,
      thawHere: (worker) => trade.thaw(worker),
      refusal,
    });
    this.#rounds = new Rounds({
      planner: this.#planner,
      book: this.#book,
      planned: (endpoints, survey) => this.#note(endpoints, survey),
    });
    this.#stopListening = [
      bells.wanted.hear((endpoint) => this.#wanted(endpoint)),
      bells.changed.hear((endpoint) => this.#endpointChanged(endpoint)),
      bells.lacking.hear((endpoint) => this.#wake(endpoint)),
      bells.loads.hear(() => this.#background(this.#tellOthers())),
      bells.news.hear(this),
      signals.listen("fleet:work", () => this.#background(this.#ticking?.soon())),
      signals.listen("fleet:endpoints", () => this.#book.forget()),
      signals.listen("fleet:loads", () => this.#background(this.#learn())),
    ];
  }

  /** Starts planning. It is called once workers can reach the server. */
  start(): void {
    const { clock, failed } = this.#parts;
    this.#ticking = every(clock, PLANNING, (now) => this.#planning.run(() => this.#tick(now)), failed);
    this.#background(this.#ticking?.soon());
  }

  /** The worker's request comes first: it may have asked for a job that waits. */
  heard({ worker }: WorkerCall): void {
    soon(() => this.#background(this.#parts.trade.answered(workerOf(worker))));
  }

  unfit({ worker }: WorkerCall, reason: Reason): void {
    this.#background(this.#parts.trade.giveUp(workerOf(worker), reason));
  }

  /**
   * The worker gets no more work at once, before its drain is recorded, because it may ask again immediately. A worker that was started by
   * hand continues.
   */
  tired(call: WorkerCall, why: Reason): void {
    const id = workerOf(call.worker);
    const { desk, records } = this.#parts;
    if (records.instances.isRemembered(id)) this.#background(desk.drain(call).then(() => {}));
    this.#background(this.#planner.drain(id, why));
  }

  stuck({ worker }: WorkerCall): void {
    this.#background(this.#planner.drain(workerOf(worker), because("does-not-stop")));
  }

  #wanted(endpoint: string): void {
    if (this.#attention.wakesFor(endpoint)) this.#wake(endpoint);
  }

  #endpointChanged(id: string): void {
    this.#parts.signals.emit("fleet:endpoints");
    this.#background(this.#book.learn(id).then(() => this.#wake(id)));
  }

  /** Ends everything of a deleted endpoint that runs on this node, at once. */
  async removeEndpoint(id: string): Promise<void> {
    this.#book.drop(id);
    this.#attention.forget(id);
    this.#reasons.forget(id);
    await this.#parts.trade.endAll(id);
  }

  /** Why a job of this endpoint waits, if workers are the reason. */
  async waitReason(endpoint: string, workforce: Workforce, onlyLowPriority: boolean): Promise<Reason | undefined> {
    const item = await this.#parts.endpoints.find(endpoint);
    const { overruns, unknown } = workforce.freedom;
    const now = this.#parts.clock.now();
    const kept = await this.#parts.records.ofEndpoint(endpoint);
    const workers = kept.map((worker) => asItIsNow(worker, overruns.get(callOf(worker).worker), now));
    return item && this.#reasons.of(item, workers, jobsOf(workforce), onlyLowPriority, unknown);
  }

  /** Why a request to a load-balancing endpoint finds no worker. */
  async whyNoWorker(id: string): Promise<Reason | undefined> {
    const endpoint = await this.#parts.endpoints.find(id);
    const workers = await this.#parts.records.ofEndpoint(id);
    return endpoint && this.#reasons.of(endpoint, workers, new Map(), false);
  }

  /** Stops planning. The house, which keeps the workers, ends them. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stopListening) stop();
    await this.#ticking?.[Symbol.asyncDispose]();
    await this.#planning.over;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #tick(now: number): Promise<void> {
    await this.#prepared();
    await this.#planner.catchUp();
    // This comes first, so that the plan knows what hinders workers now.
    await this.#parts.house.looked();
    // Every node boots its own workers, so it needs the endpoints even if it does not plan.
    await this.#book.refresh();
    if (!(await this.#isMine(now))) {
      this.#rounds.drop();
      return void (await this.#parts.machines.roll());
    }
    const survey = await this.#planner.survey();
    this.#attention.forgetOld();
    this.#rounds.sweep(this.#book.needed(survey), survey);
    await this.#planRound();
  }

  /** Plans for an endpoint at once, because something happened to it. The tick looks at the others. */
  #wake(endpoint: string): void {
    if (this.#closed || !this.#ticking) return;
    this.#woken.add(endpoint);
    this.#planSoon();
  }

  #planSoon(): void {
    if (this.#isPlanDue) return;
    this.#isPlanDue = true;
    const work = () => {
      this.#isPlanDue = false;
      return this.#planNext();
    };
    this.#background(this.#planning.run(work));
  }

  async #planNext(): Promise<void> {
    const woken = [...this.#woken];
    this.#woken.clear();
    await this.#prepared();
    if (this.#closed) return;
    if (!(await this.#isMine(this.#parts.clock.now()))) return this.#leaveToOthers(woken);
    if (woken.length > 0) this.#rounds.wake(woken, await this.#planner.survey());
    await this.#planRound();
  }

  /** The remaining endpoints get a turn of their own, so that a tick or a woken endpoint can come in between. */
  async #planRound(): Promise<void> {
    if (await this.#rounds.next()) this.#planSoon();
  }

  async #leaveToOthers(woken: readonly string[]): Promise<void> {
    this.#rounds.drop();
    if (woken.length === 0) return;
    await this.#parts.house.tell();
    const served = new Set((await this.#parts.records.all()).filter(serves).map(({ doc }) => doc.owner));
    const asks = (endpoint: string) => !served.has(endpoint) || this.#parts.balancer.demand(endpoint).inFlight > 0;
    if (woken.some(asks)) this.#parts.signals.emit("fleet:work");
  }

  /** Tells other nodes which workers of this node take requests, as soon as that changes. */
  async #tellOthers(): Promise<void> {
    if (await this.#parts.house.tell()) this.#parts.signals.emit("fleet:loads");
  }

  async #learn(): Promise<void> {
    if (!this.#closed) await this.#parts.machines.roll();
  }

  /** Notes the result of a plan: when to look again, and a line in the log if the reason for waiting is new. */
  async #note(endpoints: readonly Item<KeptEndpoint>[], { demand, live: workers }: Survey): Promise<void> {
    for (const endpoint of endpoints) {
      const own = await this.#parts.records.ofEndpoint(endpoint.id);
      const waiting = demand.get(endpoint.id);
      const isWaiting = waiting !== undefined && waiting.inQueue > 0;
      const onlyLow = isWaiting && waiting.lowPriorityInQueue === waiting.inQueue;
      const live = workers.jobsOf(endpoint.id);
      this.#attention.note(endpoint.id, {
        isServed: own.some((worker) => serves(worker) && worker.doc.release === endpoint.doc.release),
        mayWait: isWaiting || live.size > 0,
        // Nodes do not know of each other's idle workers. With several nodes the tick decides whether a job needs a thaw.
        isThawable: this.#parts.alone && isThawable(endpoint.doc, own),
      });
      this.#reasons.say(endpoint.id, isWaiting ? this.#reasons.of(endpoint, own, live, onlyLow) : undefined);
    }
  }

  /** Runs once before anything else. Resumes or removes the workers that the previous process left. */
  #prepared(): Promise<void> {
    this.#ready ??= this.#recover().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #recover(): Promise<void> {
    const { clock, keys, records, house } = this.#parts;
    await house.prepared();
    await this.#book.refresh();
    await keys.removeOrphans(clock.now() - YOUNG_KEY_MS, async () => {
      records.instances.forget();
      return new Set((await records.all()).map(({ id }) => id));
    });
  }

  /** The node that planned until now may have added workers a moment ago. They are read before anything is planned here. */
  async #isMine(now: number): Promise<boolean> {
    const { mine, records } = this.#parts;
    if (!mine) return true;
    const wasMine = this.#wasMine;
    this.#wasMine = await mine(now);
    if (this.#wasMine && !wasMine) records.instances.forget();
    return this.#wasMine;
  }

  #background(work: Promise<void> | undefined): void {
    if (work) floating(work, named(this.#parts.failed, PLANNING.name));
  }
}
