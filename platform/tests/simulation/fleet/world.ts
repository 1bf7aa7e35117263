/** A whole platform from one seed: several nodes on one store and queue, their machines and programs, people, and everything that goes wrong. */
import type { Caller } from "../../../src/kernel/caller.ts";
import { turn } from "../../../src/kernel/clock.ts";
import { isProblem } from "../../../src/kernel/problem.ts";
import { SeededRandom } from "../../../src/kernel/random.ts";
import type { Compute } from "../../../src/ports/compute/compute.ts";
import { MemoryLogs } from "../../../src/ports/logs/memory-logs.ts";
import type { Queue } from "../../../src/ports/queue/queue.ts";
import type { Store } from "../../../src/ports/store/store.ts";
import { changed } from "../mix.ts";
import { Standstill, type StandstillLimits } from "../standstill.ts";
import { Timeline } from "../timeline.ts";
import { Trace } from "../trace.ts";
import { checkBills } from "./bills.ts";
import { Ends, type Unsettled } from "./ends.ts";
import { Faults } from "./faults.ts";
import { JobRules } from "./jobs.ts";
import { newWire, SimulatedMachine } from "./machine.ts";
import { calm, type FleetMix, type FleetMixChange, fleetMixOf } from "./mix.ts";
import { SimulatedNode } from "./node.ts";
import type { Watch } from "./node-clock.ts";
import { Person } from "./people.ts";
import { Rules } from "./rules.ts";
import type { NodeSignals } from "./signals.ts";
import { SharedStore } from "./store.ts";
import { Watcher } from "./watcher.ts";

/** A bug that is planted from outside, to see that it is found. */
export interface FleetPlant {
  store?(store: Store): Store;
  queue?(queue: Queue): Queue;
  compute?(compute: Compute): Compute;
  node?(node: SimulatedNode): void;
}

export interface FleetSetting {
  seed: number;
  mix?: FleetMixChange;
  plant?: FleetPlant;
  standstill?: StandstillLimits | undefined;
}

/** The place of a node. Its lives follow each other. */
export interface Seat {
  name: string;
  watch: Watch;
  machine: SimulatedMachine;
  /** The node while it is up. */
  node: SimulatedNode | undefined;
  /** The node while it starts. */
  rising: SimulatedNode | undefined;
}

/** A period in which a node, its machine or the store was not there. */
interface Trouble {
  from: number;
  to: number | undefined;
}

const SHARED = "shared";
const LONGEST_QUIET_MS = 150_000;
const LOOK_MS = 1000;

/** Runs one world to its end and returns its trace. */
export async function simulateFleet(setting: FleetSetting): Promise<Trace> {
  const world = new FleetWorld(setting);
  try {
    await world.run();
  } finally {
    world.end();
  }
  return world.trace;
}

export class FleetWorld {
  readonly timeline = new Timeline();
  readonly trace: Trace;
  readonly standstill: Standstill;
  readonly random: SeededRandom;
  /** The source of the nodes' own random numbers. */
  readonly ids: SeededRandom;
  readonly plant: FleetPlant;
  readonly rules: Rules;
  readonly jobRules: JobRules;
  readonly store: Store;
  readonly queue: Queue;
  readonly logs = new MemoryLogs();
  readonly wire = newWire();
  readonly ears = new Set<NodeSignals>();
  readonly machines = new Map<string, SimulatedMachine>();
  readonly seats: Seat[] = [];
  readonly people: Person[] = [];
  readonly watchers: Watcher[] = [];
  readonly troubles: Trouble[] = [];
  /** Every clock shows the true time in this history. */
  readonly isClockTrue: boolean;
  mix: FleetMix;
  isStoreDown = false;
  isQuiet = false;
  /** The mix once everything is set up. */
  readonly #stormy: FleetMix;
  #isOver = false;

  constructor({ seed, mix = {}, plant = {}, standstill }: FleetSetting) {
    this.random = new SeededRandom(seed);
    this.ids = new SeededRandom(seed + 1_000_000);
    this.#stormy = changed(fleetMixOf(this.random), mix);
    this.mix = { ...this.#stormy, ...calm };
    this.isClockTrue = this.mix.skewMs === 0 && this.mix.faults.jump === 0;
    this.plant = plant;
    this.trace = new Trace(this.timeline, seed);
    this.standstill = new Standstill(this.timeline, this.trace, standstill);
    this.rules = new Rules(this);
    this.jobRules = new JobRules(this, { monotonic: () => this.timeline.elapsed });
    const store = new SharedStore(this.rules);
    this.store = plant.store?.(store) ?? store;
    this.queue = plant.queue?.(this.jobRules.queue) ?? this.jobRules.queue;
  }

  async run(): Promise<void> {
    this.#furnish();
    for (const seat of this.seats) this.start(seat);
    await this.until(() => this.nodesUp().length > 0, 60_000);
    const owner = await this.#owner();
    if (!owner) return;
    this.mix = this.#stormy;
    this.#populate(owner);
    const faults = new Faults(this);
    faults.expect();
    await this.until(() => this.timeline.elapsed >= this.mix.seconds * 1000);
    faults.end();
    await this.#calmDown();
    await this.#lookBack(owner);
  }

  /** Nothing of this history happens any more. */
  end(): void {
    this.#isOver = true;
    for (const { node, rising } of this.seats) for (const one of [node, rising]) one?.kill();
  }

  nodesUp(): SimulatedNode[] {
    return this.seats.flatMap(({ node }) => (node && !node.isLeaving ? [node] : []));
  }

  machinesOf({ machine }: Seat): SimulatedMachine[] {
    const shared = this.machines.get(SHARED);
    return shared ? [machine, shared] : [machine];
  }

  start(seat: Seat): void {
    if (seat.node || seat.rising || !seat.machine.isOn || this.#isOver) return;
    void SimulatedNode.start(this, seat, (node) => {
      seat.rising = node;
    }).then(
      (node) => {
        if (node.life.isDead) return;
        seat.rising = undefined;
        seat.node = node;
        this.trace.note(`${seat.name} is up`);
      },
      (error: unknown) => {
        seat.rising?.kill();
        seat.rising = undefined;
        if (!isProblem(error, "unavailable")) this.trace.broken(`${seat.name} cannot start: ${(error as Error).stack}`);
        this.timeline.after(LOOK_MS, () => this.start(seat));
      },
    );
  }

  /** The node ends at once. Another life begins later, unless its machine is off then. */
  crash(node: SimulatedNode, why: string): void {
    const { seat } = node;
    if (node.life.isDead) return;
    this.trace.note(`${node.name} crashes ${why}`);
    this.fell(seat);
  }

  /** The process of this seat is no longer there. */
  fell(seat: Seat): void {
    const trouble = this.trouble();
    for (const one of [seat.node, seat.rising]) one?.kill();
    seat.node = undefined;
    seat.rising = undefined;
    const awayMs = this.isQuiet ? 100 : 50 + this.random.below(this.random.pick([500, 8000, 40_000]));
    this.timeline.after(awayMs, () => {
      this.start(seat);
      trouble.to = this.timeline.elapsed;
    });
  }

  trouble(): Trouble {
    const trouble: Trouble = { from: this.timeline.elapsed, to: undefined };
    this.troubles.push(trouble);
    return trouble;
  }

  async until(isOver: () => boolean, mostMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    const endMs = this.timeline.elapsed + mostMs;
    // What was begun just now may need no time.
    await turn();
    while (!isOver() && !this.trace.isBroken && this.timeline.elapsed < endMs)
      this.standstill.stepped(await this.timeline.step());
    return isOver();
  }

  #furnish(): void {
    const { nodes, vcpu, gpus, skewMs, isShared } = this.mix;
    for (let i = 1; i <= nodes; i++) {
      const aheadMs = skewMs === 0 ? 0 : this.random.below(2 * skewMs) - skewMs;
      const machine = this.#machine(`m${i}`, { vcpu, gpus, aheadMs });
      this.seats.push({ name: `n${i}`, watch: machine.watch, machine, node: undefined, rising: undefined });
    }
    if (isShared) this.#machine(SHARED, { vcpu, gpus, aheadMs: 0 });
  }

  #machine(id: string, has: { vcpu: number; gpus: number; aheadMs: number }): SimulatedMachine {
    const machine = new SimulatedMachine(this, { id, ...has });
    this.machines.set(id, machine);
    return machine;
  }

  async #owner(): Promise<Caller | undefined> {
    const found = this.nodesUp()[0]?.services.accounts.firstOwner();
    let owner: Awaited<typeof found>;
    void found?.then((one) => {
      owner = one;
    });
    await this.until(() => owner !== undefined, 60_000);
    if (!owner) return this.trace.broken("no node knew the owner within a minute") as undefined;
    const { account, user } = owner;
    return { account, user, key: "key", grants: ["all"], exempt: true };
  }

  #populate(owner: Caller): void {
    for (let i = 0; i < this.mix.people; i++) this.people.push(new Person(this, owner));
    for (let i = 0; i < this.mix.watchers; i++) this.watchers.push(new Watcher(this, owner));
    for (const one of [...this.people, ...this.watchers]) one.live();
  }

  /** Nothing goes wrong any more. Everything must come to rest. */
  async #calmDown(): Promise<void> {
    this.trace.note("it becomes quiet");
    this.isQuiet = true;
    this.isStoreDown = false;
    this.mix = { ...this.mix, ...calm };
    for (const person of this.people) person.leave();
    for (const seat of this.seats) {
      if (!seat.machine.isOn) seat.machine.powerOn();
      this.start(seat);
    }
    await this.until(
      () => this.seats.every(({ node }) => node && !node.isLeaving && !node.life.isAsleep),
      LONGEST_QUIET_MS,
    );
    for (const person of this.people) await this.#while(person.clearUp());
    const ends = new Ends(this);
    let trouble: Unsettled | undefined = { text: "nobody has looked" };
    let lookAt = 0;
    await this.until(() => {
      if (this.timeline.elapsed < lookAt) return false;
      lookAt = this.timeline.elapsed + LOOK_MS;
      trouble = ends.unsettled();
      return trouble === undefined;
    }, LONGEST_QUIET_MS);
    if (trouble !== undefined && !this.trace.isBroken) this.trace.broken(`at the end ${trouble.text}`, trouble.about);
  }

  async #lookBack(owner: Caller): Promise<void> {
    if (this.trace.isBroken) return;
    await this.#while(checkBills(this, this.nodesUp()[0]!, owner.account));
  }

  /** Lets time pass until the work is done. */
  async #while(work: Promise<void>): Promise<void> {
    let isDone = false;
    const done = work.then(
      () => {
        isDone = true;
      },
      (error: unknown) => this.trace.broken(`a look back failed: ${(error as Error).stack}`),
    );
    await this.until(() => isDone, LONGEST_QUIET_MS);
    if (isDone) await done;
  }
}
