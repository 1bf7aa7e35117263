/** The state of a whole installation in numbers: jobs, waits, workers, Pods, machines, capacity and money. */
import { eachOf } from "../../kernel/bounded.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { ReasonCode } from "../../kernel/reason.ts";
import type { Drains } from "../../machines/drains.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import { placeOf } from "../../machines/instances.ts";
import type { Known } from "../../machines/known.ts";
import type { Runs } from "../../machines/need.ts";
import { Room } from "../../machines/room.ts";
import { type Costs, instancePerHour } from "../../metering/cost.ts";
import type { Demand, Queue } from "../../ports/queue/queue.ts";
import { podStatuses } from "../pods/lifecycle.ts";
import type { PodRecords } from "../pods/records.ts";
import type { WorkerService } from "../workers/service.ts";

export interface FigureParts {
  queue: Pick<Queue, "demand">;
  workers: Pick<WorkerService, "summaries">;
  instanceRecords: Pick<InstanceRecords, "all">;
  podRecords: PodRecords;
  known: () => Promise<Known>;
  drains: Pick<Drains, "all">;
  costs: Pick<Costs, "storagePerHourOfAll">;
  clock: Clock;
  /** Why the jobs in the queue of an endpoint wait. */
  whyWaiting: (endpoint: string) => Promise<ReasonCode>;
}

export interface Amount {
  total: number;
  free: number;
}

export interface LongQueue {
  endpoint: string;
  inQueue: number;
  inProgress: number;
  oldestMs: number;
}

export interface InstallationFigures {
  inQueue: number;
  inProgress: number;
  /** How long the job has waited that waits for longest, without those of low priority. */
  oldestMs: number;
  /** Endpoints with waiting or running jobs. */
  endpoints: number;
  /** The longest queues, longest first. */
  longest: LongQueue[];
  /** Waiting jobs by the reason of their wait. */
  waiting: ReadonlyMap<string, number>;
  workers: ReadonlyMap<string, number>;
  pods: ReadonlyMap<string, number>;
  nodes: ReadonlyMap<string, number>;
  machines: ReadonlyMap<string, number>;
  /** Machines that cannot run images at the moment which they are for, by the kind of images. */
  away: ReadonlyMap<Runs, number>;
  gpus: ReadonlyMap<string, Amount>;
  vcpu: Amount;
  memoryMb: Amount;
  diskGb: Amount;
  /** What everything costs in an hour, in 1e-9 USD. */
  perHour: { instances: number; storage: number };
}

/** Reasons are found for this many of the longest queues. Jobs of the others count as this reason. */
const EXPLAINED = 100;
/** One after the other they would take seconds on a database that needs tens of milliseconds, and a scrape does not wait that long. */
const EXPLAINED_AT_ONCE = 10;
const KINDS: readonly Runs[] = ["host", "container"];
const UNEXPLAINED = "not-looked-at";
/** Machines can name GPU types that the catalog does not have. More types than this are left out. */
const MOST_GPU_TYPES = 100;
/** The cost of storage changes seldom, and is read from the store. */
const STORAGE_MS = 60_000;

export class Figures {
  readonly #parts: FigureParts;
  #storage = 0;
  #storageReadAt = Number.NEGATIVE_INFINITY;

  constructor(parts: FigureParts) {
    this.#parts = parts;
  }

  async read(longest: number): Promise<InstallationFigures> {
    const [ofQueue, workers, pods, ofMachines, storage] = await Promise.all([
      this.#queue(longest),
      this.#workers(),
      this.#pods(),
      this.#machines(),
      this.#storagePerHour(),
    ]);
    const { perHour: instances, ...machines } = ofMachines;
    return { ...ofQueue, workers, pods, ...machines, perHour: { instances, storage } };
  }

  async #queue(longest: number) {
    const demand = await this.#parts.queue.demand(1);
    const now = this.#parts.clock.now();
    const queues = demand.map((one) => queueIn(one, now)).sort((a, b) => b.inQueue - a.inQueue);
    return {
      inQueue: sum(queues, ({ inQueue }) => inQueue),
      inProgress: sum(queues, ({ inProgress }) => inProgress),
      oldestMs: queues.reduce((oldest, { oldestMs }) => Math.max(oldest, oldestMs), 0),
      endpoints: queues.length,
      longest: queues.slice(0, longest),
      waiting: await this.#waiting(queues.filter(({ inQueue }) => inQueue > 0)),
    };
  }

  async #waiting(queues: readonly LongQueue[]): Promise<Map<string, number>> {
    const waiting = new Map<string, number>();
    await eachOf(queues.slice(0, EXPLAINED), EXPLAINED_AT_ONCE, async ({ endpoint, inQueue }) =>
      add(waiting, await this.#parts.whyWaiting(endpoint), inQueue),
    );
    const others = sum(queues.slice(EXPLAINED), ({ inQueue }) => inQueue);
    if (others > 0) waiting.set(UNEXPLAINED, others);
    return waiting;
  }

  async #workers(): Promise<Map<string, number>> {
    const states = new Map<string, number>();
    for (const summary of (await this.#parts.workers.summaries()).values())
      for (const [state, count] of Object.entries(summary)) add(states, state, count);
    return states;
  }

  async #pods(): Promise<Map<string, number>> {
    const { pods } = this.#parts.podRecords;
    const count = async (status: string) =>
      [status, await pods.count({ key: { name: "status", value: status } })] as const;
    return new Map(await Promise.all(podStatuses.filter((status) => status !== "TERMINATED").map(count)));
  }

  async #machines() {
    const { known, drains, instanceRecords } = this.#parts;
    const [{ nodes, machines }, draining, instances] = await Promise.all([
      known(),
      drains.all(),
      instanceRecords.all(),
    ]);
    const up = machines.filter(({ silence }) => !silence);
    const ids = new Set(up.map(({ id }) => id));
    const room = new Room(
      up,
      instances.flatMap(placeOf).filter(({ machine }) => ids.has(machine)),
    );
    const boxes = up.flatMap((machine) => machine.boxes);
    const free = room.all();
    const amount = (of: (share: { vcpu: number; memoryMb: number; diskGb: number }) => number): Amount => ({
      total: sum(boxes, of),
      free: sum(free, (box) => Math.max(0, of(box))),
    });
    const gpus = new Map<string, Amount>();
    for (const { box, gpus: left } of free) {
      for (const { type, count } of box.gpus) {
        const { total, free } = gpus.get(type) ?? { total: 0, free: 0 };
        if (gpus.has(type) || gpus.size < MOST_GPU_TYPES)
          gpus.set(type, { total: total + count, free: free + Math.max(0, left.get(type) ?? 0) });
      }
    }
    return {
      nodes: countedBy(nodes, ({ silence }) => (silence ? "SILENT" : "UP")),
      // A machine that was drained may be switched off for good, and that alarms nobody.
      machines: countedBy(machines, ({ id, silence }) => (draining.has(id) ? "DRAINING" : silence ? "SILENT" : "UP")),
      away: new Map(KINDS.map((kind) => [kind, up.filter(({ away }) => away?.[kind] !== undefined).length])),
      gpus,
      vcpu: amount(({ vcpu }) => vcpu),
      memoryMb: amount(({ memoryMb }) => memoryMb),
      diskGb: amount(({ diskGb }) => diskGb),
      perHour: sum(instances, ({ doc }) => instancePerHour(doc)),
    };
  }

  async #storagePerHour(): Promise<number> {
    const nowMs = this.#parts.clock.monotonic();
    if (nowMs - this.#storageReadAt >= STORAGE_MS) {
      this.#storage = sum([...(await this.#parts.costs.storagePerHourOfAll()).values()], (one) => one);
      this.#storageReadAt = nowMs;
    }
    return this.#storage;
  }
}

function queueIn({ endpoint, inQueue, inProgress, waitingSince }: Demand, now: number): LongQueue {
  return { endpoint, inQueue, inProgress, oldestMs: Math.max(0, now - (waitingSince[0] ?? now)) };
}

const sum = <T>(all: readonly T[], of: (one: T) => number) => all.reduce((total, one) => total + of(one), 0);

const add = (to: Map<string, number>, name: string, count: number) => to.set(name, (to.get(name) ?? 0) + count);

function countedBy<T>(all: readonly T[], nameOf: (one: T) => string): Map<string, number> {
  const counts = new Map<string, number>([
    ["UP", 0],
    ["SILENT", 0],
  ]);
  for (const one of all) add(counts, nameOf(one), 1);
  return counts;
}
