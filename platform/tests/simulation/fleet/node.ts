/** One life of a node: the real inside of a server over the shared store and queue, from a start to its end. */
import { type Inside, openInside } from "../../../src/composition/inside.ts";
import { openBooks } from "../../../src/composition/services.ts";
import { parsePolicy } from "../../../src/guards/rate-policy.ts";
import { parsePayloadLimits } from "../../../src/jobs/payload-limits.ts";
import { BodyMemory } from "../../../src/kernel/body-memory.ts";
import { named } from "../../../src/kernel/failed.ts";
import type { Log } from "../../../src/kernel/log.ts";
import { isProblem } from "../../../src/kernel/problem.ts";
import type { OwnMachine } from "../../../src/machines/own-machine.ts";
import type { Compute } from "../../../src/ports/compute/compute.ts";
import type { FakeCompute } from "../../../src/ports/compute/fake-compute.ts";
import { MemoryLimits } from "../../../src/ports/limits/memory-limits.ts";
import { FakePasswords } from "../../../src/ports/passwords/fake-passwords.ts";
import type { Listing, Store, StoredRecord, Write } from "../../../src/ports/store/store.ts";
import { AccountEvents } from "../../../src/resources/events/service.ts";
import { overriding } from "../disk.ts";
import { Life } from "../life.ts";
import { Border } from "./border.ts";
import type { SimulatedMachine } from "./machine.ts";
import { NodeClock } from "./node-clock.ts";
import { NodeSignals } from "./signals.ts";
import { plainVault } from "./vault.ts";
import type { FleetWorld, Seat } from "./world.ts";

const SETTINGS = {
  rateLimits: parsePolicy("off"),
  anonymousLimits: parsePolicy("off"),
  payloadLimits: parsePayloadLimits("10,20,20"),
  connections: 100,
  logDays: 7,
  frozenS: 60,
  stream: "auto",
} as const;

const STORE_CALLS = new Set(["get", "find", "list", "count", "removeAccount", "lease", "release"]);
const QUEUE_CALLS = new Set(
  "enqueue claim apply append read find chunks list purge removeEndpoint due expire counts callers charges demand renew retire holders held tellers outgoing settle".split(
    " ",
  ),
);
const COMPUTE_CALLS = new Set(["capacity", "start", "stop", "remove", "list"]);

export class SimulatedNode {
  readonly seat: Seat;
  readonly life: Life;
  /** Called when the node dies, with requests that wait for its answer. */
  readonly calls = new Set<() => void>();
  readonly #world: FleetWorld;
  readonly #signals: NodeSignals;
  #inside!: Inside;
  events!: AccountEvents;
  isLeaving = false;
  /** Since when the process runs without a pause. */
  awakeSince: number;
  readonly #drivers: FakeCompute[] = [];

  private constructor(world: FleetWorld, seat: Seat) {
    this.#world = world;
    this.seat = seat;
    this.life = new Life(world.timeline);
    this.#signals = new NodeSignals(world, this.life);
    this.awakeSince = world.timeline.elapsed;
  }

  get name(): string {
    return this.seat.name;
  }

  get jobs() {
    return this.#inside.jobs;
  }

  get services() {
    return this.#inside.services;
  }

  get roll() {
    return this.#inside.roll;
  }

  /** `life` is told of the new life before the node is up, since it may die while it starts. */
  static async start(world: FleetWorld, seat: Seat, begun: (node: SimulatedNode) => void): Promise<SimulatedNode> {
    const node = new SimulatedNode(world, seat);
    begun(node);
    await node.#open();
    return node;
  }

  async #open(): Promise<void> {
    const { name, watch } = this.seat;
    const world = this.#world;
    const { ids: random, logs } = world;
    const clock = new NodeClock(this.life, watch);
    const border = new Border(world, this.life);
    const store = this.#storeThrough(border);
    const queue = border.around(world.queue, QUEUE_CALLS, { canFail: true });
    const log = this.#log();
    const failed = (error: unknown, duty: string) => log.error({ err: error, duty }, `the duty "${duty}" failed`);
    const url = () => `http://${name}`;
    const given = { store, vault: plainVault, clock, random, publicUrl: () => "https://millrace.test", failed };
    const books = await openBooks({ ...given, uniqueNames: false });
    const parts = {
      ...{ ...given, queue, logs, log, signals: this.#signals, limits: new MemoryLimits(), alone: false },
      ...{ passwords: new FakePasswords(), post: () => new Promise<never>(() => undefined) },
      memory: new BodyMemory({ clock, bytes: 1e9 }),
      machines: world.machinesOf(this.seat).map((machine) => this.#own(machine, border)),
      node: { id: name, version: "0.0.0-test", url, workerUrl: url },
    };
    this.#inside = await openInside(parts, { ...books, store, vault: plainVault } as typeof books, SETTINGS);
    const { ground, services, keeping } = this.#inside;
    this.events = new AccountEvents({ ...ground, ...services, isStanding: async () => true });
    world.plant.node?.(this);
    keeping.start();
  }

  /** Leaves in order: what it does is given away, and its workers end. */
  async leave(): Promise<void> {
    this.isLeaving = true;
    const { ground, roll, jobs, keeping, volumeCare, volumeCounts, upkeep } = this.#inside;
    jobs.desk.close();
    roll.balancer.close();
    await keeping.close();
    jobs.streams.close();
    await this.events[Symbol.asyncDispose]();
    await jobs.engine[Symbol.asyncDispose]();
    roll.balancer[Symbol.dispose]();
    const { webhooks, progress, sweeper } = jobs;
    for (const duty of [volumeCounts, volumeCare, ...upkeep, webhooks, progress, sweeper])
      await duty[Symbol.asyncDispose]();
    await ground.leases.giveAway().catch(named(ground.failed, "give duties away"));
  }

  freeze(ms: number): void {
    this.life.pause(ms);
    // A second freeze that ends sooner wakes nobody.
    this.awakeSince = Math.max(this.awakeSince, this.#world.timeline.elapsed + ms);
  }

  read(listing: Listing): Promise<StoredRecord[]> {
    return this.services.watched.list(listing);
  }

  /** None of its timers, calls or answers happen any more. */
  kill(): void {
    this.life.kill();
    for (const driver of this.#drivers) driver.crash();
    this.#signals.end();
    for (const reset of this.calls) reset();
    this.calls.clear();
  }

  #storeThrough(border: Border): Store {
    const world = this.#world;
    const { store, random } = world;
    const commit = (writes: Write[]) =>
      border.cross(async () => {
        const { mix } = world;
        if (random.chance(mix.commit.crashBefore)) return this.#dies("before a commit");
        const written = await store.commit(writes);
        if (random.chance(mix.commit.crashAfter)) return this.#dies("after a commit, before its answer");
        return written;
      }, true);
    const wrapped = border.around<Store>(store, STORE_CALLS, { canFail: true });
    return overriding(wrapped, { commit });
  }

  #dies(when: string): Promise<never> {
    this.#world.crash(this, when);
    return new Promise<never>(() => undefined);
  }

  #own(machine: SimulatedMachine, border: Border): OwnMachine {
    const world = this.#world;
    const driver = machine === this.seat.machine ? machine.nextDriver() : machine.sharedDriver();
    this.#drivers.push(driver);
    const acted = (name: string) => {
      if (name === "start" || name === "stop" || name === "remove") world.rules.acted(this, machine, name);
    };
    const planted = world.plant.compute?.(driver) ?? driver;
    const compute = this.#heard(border.around<Compute>(planted, COMPUTE_CALLS, { before: acted }), driver);
    return {
      ...{ id: machine.id, compute, workerUrl: () => "http://millrace.test", site: { dataCenter: "EU-RO-1" } },
      ...(machine.bootedAt !== undefined && { bootedAt: machine.bootedAt }),
    };
  }

  /** What the driver tells reaches the process only while it is awake. */
  #heard(compute: Compute, driver: Compute): Compute {
    return overriding(compute, {
      watch: (listener) => driver.watch((instance) => this.life.reach(() => listener(instance))),
    });
  }

  #log(): Log {
    const { trace } = this.#world;
    const tell = (fields: object, message: string) => {
      const { err } = fields as { err?: Error };
      trace.note(`${this.name} logs: ${message}${err ? `: ${err.message}` : ""}`);
    };
    return {
      info: () => {},
      warn: tell,
      error: (fields, message) => {
        if (this.life.isDead) return;
        const { err } = fields as { err?: unknown };
        if (isProblem(err, "unavailable")) tell(fields, message);
        else trace.broken(`${this.name}: ${message}: ${(err as Error | undefined)?.stack ?? ""}`);
      },
    };
  }
}
