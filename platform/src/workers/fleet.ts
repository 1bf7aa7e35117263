/** The fleet makes workers exist: it wakes for what happens, looks at everything once a second, and lets planner and keeper act. */
import type { Balancer } from "../balancing/balancer.ts";
import { holderName, workerOf } from "../jobs/holder.ts";
import type { WorkerCall, WorkerDesk } from "../jobs/worker-desk.ts";
import type { WorkerEvents } from "../jobs/worker-events.ts";
import { type Duty, every } from "../kernel/background.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Log } from "../kernel/log.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import type { Random } from "../kernel/random.ts";
import type { Drains } from "../machines/drains.ts";
import { Machines, type NodeIdentity, type Roll } from "../machines/machines.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import type { SilentSince } from "../machines/silences.ts";
import type { Logs } from "../ports/logs/logs.ts";
import type { HolderState, Queue } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";
import type { Item } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import type { EndpointService } from "../resources/endpoints/service.ts";
import type { WorkerKeys } from "../resources/endpoints/worker-keys.ts";
import type { Reveal } from "../resources/secrets/placeholders.ts";
import type { WorkerRecords } from "../resources/workers/records.ts";
import { Attention, isThawable, serves } from "./attention.ts";
import type { BooterParts } from "./booter.ts";
import { type Crew, crewFor } from "./crew.ts";
import { Elsewhere, type Reach } from "./elsewhere.ts";
import { EndpointBook } from "./endpoint-book.ts";
import type { Keeper } from "./keeper.ts";
import type { WorkerItem } from "./plan.ts";
import { type FrozenLimits, Planner, type PlannerParts, type Survey } from "./planner.ts";
import { Rounds } from "./rounds.ts";
import { jobsOf, WaitReasons } from "./wait-reasons.ts";
import { FleetWarmUps } from "./warm-ups.ts";

export interface FleetParts
  extends Pick<PlannerParts, "makeRoom" | "quotas" | "spending">,
    Pick<BooterParts, "accessTo" | "ensureVolume"> {
  store: Store;
  queue: Queue;
  signals: Signals;
  /** No other process plans or keeps workers. */
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
  reveal: Reveal;
  logs: Logs;
  /** What this node runs workers on; a node without any serves requests and leaves workers to others. */
  machines: readonly OwnMachine[];
  node: NodeIdentity;
  drains: Pick<Drains, "all">;
  /** How it reaches workers on the machines of other nodes. */
  reach?: Reach;
  /** How long workers stay frozen, and with how much memory. */
  frozen: FrozenLimits;
  /** Of many nodes one plans. */
  mine?: (now: number) => Promise<boolean>;
}

const PLANNING = { name: "plan workers", everyMs: 1000 };
const COMPARE_MS = 10_000;

export class Fleet implements WorkerEvents, AsyncDisposable {
  readonly #parts: FleetParts;
  /** Who is there, as this node knows it. */
  readonly machines: Machines;
  readonly #planner: Planner;
  /** What is done on each machine of this node. */
  readonly #crews: ReadonlyMap<string, Crew>;
  readonly #book: EndpointBook;
  #ticking: Duty | undefined;
  readonly #stopListening: (() => void)[];
  readonly #attention: Attention;
  readonly #woken = new Set<string>();
  readonly #rounds: Rounds;
  #isPlanDue = false;
  readonly #reasons: WaitReasons;
  /** For the desk: what new workers must do first. */
  readonly warmUps: FleetWarmUps;
  /** One plan after the other: two at once would both start the worker that one job needs. */
  readonly #planning = new OneAtATime();
  #ready: Promise<void> | undefined;
  #comparedAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(parts: FleetParts) {
    this.#parts = parts;
    const { machines, signals, balancer } = parts;
    balancer.onDemand((endpoint) => this.#wake(endpoint));
    balancer.onChange(() => this.#background(this.#tellOthers()));
    balancer.explainedBy((endpoint) => this.#whyNoWorker(endpoint));
    this.#book = new EndpointBook(parts);
    this.#attention = new Attention(parts);
    const endpoint = (id: string) => this.#book.find(id);
    this.warmUps = new FleetWarmUps({ ...parts, endpoint, act: (worker) => this.#act(worker) });
    const refusal = () => machines.map((machine) => machine.refusal?.()).find((reason) => reason !== undefined);
    const progressOf = (id: string) =>
      this.#keepers()
        .map((keeper) => keeper.progressOf(id))
        .find((line) => line !== undefined);
    const silentSince: SilentSince = (machine) => this.machines.silences.since(machine);
    this.#reasons = new WaitReasons({ ...parts, refusal, progressOf, silentSince });
    const { reach = () => Promise.reject(new Error("other machines are not reached from here")) } = parts;
    const elsewhere = new Elsewhere({ balancer, reach });
    this.machines = new Machines({
      ...parts,
      own: machines,
      isMetered: () => this.#isMetered(),
      activity: () => this.#activity(),
      // A node that ends says so first: nobody is sent to it any more.
      loads: () => (this.#closed ? {} : balancer.loads()),
      heard: (peers) => elsewhere.learn(peers),
    });
    const keeping = {
      ...parts,
      endpoint,
      warmUps: this.warmUps,
      seenBefore: () => this.machines.seenBefore,
      changed: (id: string) => this.#wake(id),
    };
    this.#crews = new Map(machines.map((machine) => [machine.id, crewFor(machine, keeping)]));
    this.#planner = new Planner({
      ...parts,
      roll: () => this.machines.roll(),
      lastSeen: (machine) => this.machines.lastSeen(machine),
      activeAt: (endpoint, worker) => this.#activeAt(endpoint, worker),
      act: (worker) => this.#act(worker),
      thawHere: (worker) => this.#thawHere(worker),
      refusal,
    });
    this.#rounds = new Rounds({
      planner: this.#planner,
      book: this.#book,
      planned: (endpoints, survey) => this.#note(endpoints, survey),
    });
    this.#stopListening = [
      signals.listen("fleet:work", () => this.#background(this.#ticking?.soon())),
      signals.listen("fleet:endpoints", () => this.#book.forget()),
      signals.listen("fleet:loads", () => this.#background(this.#learn())),
      ...machines.map(({ id }) => signals.listen(`fleet:${id}`, () => this.#background(this.#ticking?.soon()))),
    ];
  }

  /** Workers can reach the server from now on: what was left is recovered, and what is missing is started. */
  start(): void {
    const { clock, failed } = this.#parts;
    this.#ticking = every(clock, PLANNING, (now) => this.#planning.run(() => this.#tick(now)), failed);
    this.#background(this.#ticking?.soon());
  }

  wanted(endpoint: string): void {
    if (this.#attention.wakesFor(endpoint)) this.#wake(endpoint);
  }

  heard({ worker }: WorkerCall): void {
    for (const keeper of this.#keepers()) this.#background(keeper.answered(workerOf(worker)));
  }

  unfit({ worker }: WorkerCall, reason: string): void {
    for (const keeper of this.#keepers()) this.#background(keeper.giveUp(workerOf(worker), reason));
  }

  /** It gets nothing from now on, before that is on record: it may ask again at once. One that was started by hand goes on. */
  tired(call: WorkerCall): void {
    const id = workerOf(call.worker);
    const { desk, records } = this.#parts;
    if (records.instances.isRemembered(id)) this.#background(desk.drain(call).then(() => {}));
    this.#background(this.#planner.drain(id, "its handler asked for a fresh worker"));
  }

  stuck({ worker }: WorkerCall): void {
    this.#background(this.#planner.drain(workerOf(worker), "it does not stop a job that is no longer its own"));
  }

  endpointChanged(id: string): void {
    this.#parts.signals.emit("fleet:endpoints");
    this.#background(this.#book.learn(id).then(() => this.#wake(id)));
  }

  /** Everything of a deleted endpoint that runs on this machine ends at once. */
  async removeEndpoint(id: string): Promise<void> {
    this.#book.drop(id);
    this.#attention.forget(id);
    this.#reasons.forget(id);
    await Promise.all(this.#keepers().map((keeper) => keeper.endAll(id)));
  }

  /** The machines that are there, of this node and of others, and the other nodes that were heard of lately. */
  async roll(): Promise<Roll> {
    await this.#prepared();
    return this.machines.roll();
  }

  /** Why a job of this endpoint waits, when workers are the reason. */
  async waitSentence(
    endpoint: string,
    holders: readonly HolderState[],
    onlyLowPriority: boolean,
  ): Promise<string | undefined> {
    const item = await this.#parts.endpoints.find(endpoint);
    const workers = await this.#parts.records.ofEndpoint(endpoint);
    return item && this.#reasons.sentence(item, workers, jobsOf(holders), onlyLowPriority);
  }

  /** Why a request to a load-balancing endpoint finds no worker. */
  async #whyNoWorker(id: string): Promise<string | undefined> {
    const endpoint = await this.#parts.endpoints.find(id);
    const workers = await this.#parts.records.ofEndpoint(id);
    return endpoint && this.#reasons.sentence(endpoint, workers, new Map(), false);
  }

  /** Nothing new begins; workers get a moment for the job they have, which else goes back as if never begun; then they end. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stopListening) stop();
    await this.#ticking?.[Symbol.asyncDispose]();
    await this.#planning.over;
    const failed = named(this.#parts.failed, "end workers");
    await this.#tellOthers().catch(failed);
    // Whatever fails here must not keep the rest of the server from ending; workers that are left end without it.
    await Promise.all(this.#keepers().map((keeper) => keeper.shutDown().catch(failed)));
    for (const { rotation } of this.#crews.values()) rotation[Symbol.dispose]();
    for (const { workerLog } of this.#crews.values()) await workerLog[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #tick(now: number): Promise<void> {
    await this.#prepared();
    await this.machines.beat(now);
    await this.#compare();
    await this.#planner.catchUp();
    const holders = await this.#parts.queue.holders(undefined);
    // First, so that the plan is made on what hinders workers now.
    const heard = new Map(holders.map((holder) => [workerOf(holder.holder), holder]));
    for (const keeper of this.#keepers()) await keeper.tick(now, heard);
    if (!(await this.#isMine(now))) {
      this.#rounds.drop();
      return void (await this.machines.roll());
    }
    const survey = await this.#planner.survey(holders);
    await this.#book.refresh();
    this.#attention.forgetOld();
    this.#rounds.sweep(this.#book.needed(survey), survey);
    await this.#planRound();
  }

  /** Those that something happened to are planned for at once; the others are looked at by the tick. */
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

  /** The rest gets a turn of its own: a tick, and an endpoint that is woken, comes in between. */
  async #planRound(): Promise<void> {
    if (await this.#rounds.next()) this.#planSoon();
  }

  async #leaveToOthers(woken: readonly string[]): Promise<void> {
    this.#rounds.drop();
    if (woken.length === 0) return;
    await this.machines.tell(this.#parts.clock.now());
    const served = new Set((await this.#parts.records.all()).filter(serves).map(({ doc }) => doc.owner));
    const asks = (endpoint: string) => !served.has(endpoint) || this.#parts.balancer.demand(endpoint).inFlight > 0;
    if (woken.some(asks)) this.#parts.signals.emit("fleet:work");
  }

  /** Which workers of this machine take requests, as soon as that changes. */
  async #tellOthers(): Promise<void> {
    if (await this.machines.tell(this.#parts.clock.now())) this.#parts.signals.emit("fleet:loads");
  }

  async #learn(): Promise<void> {
    if (!this.#closed) await this.machines.roll();
  }

  /** What follows from a plan for those who wait: when to look again, and a line in the log when the reason is a new one. */
  async #note(endpoints: readonly Item<KeptEndpoint>[], { demand, jobsOf: jobs }: Survey): Promise<void> {
    const workers = Map.groupBy(await this.#parts.records.all(), ({ doc }) => doc.owner);
    for (const endpoint of endpoints) {
      const own = workers.get(endpoint.id) ?? [];
      const waiting = demand.get(endpoint.id);
      const isWaiting = waiting !== undefined && waiting.inQueue > 0;
      const onlyLow = isWaiting && waiting.lowPriorityInQueue === waiting.inQueue;
      const live = jobs.get(endpoint.id) ?? new Map();
      this.#attention.note(endpoint.id, {
        isServed: own.some((worker) => serves(worker) && worker.doc.release === endpoint.doc.release),
        mayWait: isWaiting || live.size > 0,
        // Where nodes do not know of each other's idle workers, the tick decides whether a job needs one more.
        isThawable: this.#parts.alone && isThawable(endpoint.doc, own),
      });
      this.#reasons.say(endpoint.id, isWaiting ? this.#reasons.sentence(endpoint, own, live, onlyLow) : undefined);
    }
  }

  #act({ id, doc }: WorkerItem): void {
    const crew = this.#crews.get(doc.machine ?? "");
    if (crew) this.#background(crew.keeper.tend(id));
    else this.#parts.signals.emit(`fleet:${doc.machine}`);
  }

  async #thawHere({ id, doc }: WorkerItem): Promise<boolean> {
    const crew = this.#crews.get(doc.machine ?? "");
    await crew?.keeper.thaw(id);
    return crew !== undefined;
  }

  /** Once, before anything else: what was left by the process before is taken up again or removed. */
  #prepared(): Promise<void> {
    this.#ready ??= this.#recover().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #recover(): Promise<void> {
    const { clock, keys, records } = this.#parts;
    await this.machines.prepare();
    await this.machines.beat(clock.now());
    await this.#compare();
    await this.#book.refresh();
    const known = new Set((await records.all()).map(({ id }) => id));
    await keys.removeOrphans(clock.now() - COMPARE_MS, (worker) => known.has(worker));
  }

  async #compare(): Promise<void> {
    const now = this.#parts.clock.monotonic();
    if (now - this.#comparedAt < COMPARE_MS) return;
    for (const keeper of this.#keepers()) await keeper.compare();
    this.#comparedAt = now;
  }

  #keepers(): Keeper[] {
    return [...this.#crews.values()].map(({ keeper }) => keeper);
  }

  async #isMetered(): Promise<boolean> {
    return (await this.#parts.records.instances.all()).some(
      ({ doc }) => doc.span && this.#crews.has(doc.machine ?? ""),
    );
  }

  /** For the node that plans: when workers of this machine last took or ended a job. */
  async #activity(): Promise<Record<string, number>> {
    const { records, machines } = this.#parts;
    const workers = (await Promise.all(machines.map(({ id }) => records.ofMachine(id)))).flat();
    const seen = workers.map(({ id, doc }) => [id, this.#activeAt(doc.owner, id)] as const);
    return Object.fromEntries(seen.filter((one): one is [string, number] => one[1] !== undefined));
  }

  /** When it last began or ended something, as far as this node knows. One that is at a job, be it no longer its own, is so now. */
  #activeAt(endpoint: string, worker: string): number | undefined {
    const { balancer, desk, clock } = this.#parts;
    const call = { endpoint, worker: holderName(endpoint, worker) };
    if (desk.overruns.mayHoldUp(call)) return clock.now();
    return balancer.occupations(endpoint).get(worker)?.idleSince ?? desk.activeAt(call.worker);
  }

  async #isMine(now: number): Promise<boolean> {
    return this.#parts.mine ? this.#parts.mine(now) : true;
  }

  #background(work: Promise<void> | undefined): void {
    if (work) floating(work, named(this.#parts.failed, PLANNING.name));
  }
}
