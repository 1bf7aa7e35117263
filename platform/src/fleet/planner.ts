/** The planner gathers what is known of endpoints that need workers, plans for each, and writes the plan into the records. */
import { workerOf } from "../jobs/holder.ts";
import type { Clock } from "../kernel/clock.ts";
import { resourceId } from "../kernel/ids.ts";
import type { Random } from "../kernel/random.ts";
import type { Demand, Queue } from "../ports/queue/queue.ts";
import type { Item } from "../ports/store/collection.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import type { WorkerKeys } from "../resources/endpoints/worker-keys.ts";
import { type KeptWorker, workerLifecycle } from "../resources/workers/model.ts";
import type { WorkerRecords } from "../resources/workers/records.ts";
import type { Balancer } from "./balancer.ts";
import type { Roll } from "./machines.ts";
import { type Place, Room } from "./placer.ts";
import { type Facts, plan, type Step, type WorkerItem } from "./plan.ts";

export interface PlannerParts {
  queue: Queue;
  balancer: Balancer;
  records: WorkerRecords;
  keys: WorkerKeys;
  clock: Clock;
  random: Random;
  roll: () => Promise<Roll>;
  /** When a worker last took or ended a job, as far as this node knows. */
  activeAt: (endpoint: string, worker: string) => number | undefined;
  /** A record was written that its machine must act on. */
  act: (worker: WorkerItem) => void;
}

/** What a pass over endpoints is decided on. */
export interface Survey {
  now: number;
  demand: ReadonlyMap<string, Demand>;
  workers: ReadonlyMap<string, WorkerItem[]>;
  /** Jobs of each live worker, by endpoint. */
  jobsOf: ReadonlyMap<string, ReadonlyMap<string, number>>;
  roll: Roll;
}

/** No endpoint gets more workers than these in one pass for jobs that waited too long. */
const MOST_WAITING = 100;

export class Planner {
  readonly #parts: PlannerParts;

  constructor(parts: PlannerParts) {
    this.#parts = parts;
  }

  async survey(): Promise<Survey> {
    const { queue, balancer, records, clock, roll } = this.#parts;
    const now = clock.now();
    const [demand, workers, holders, there] = await Promise.all([
      queue.demand(MOST_WAITING),
      records.all(),
      queue.holders(undefined),
      roll(),
    ]);
    const jobsOf = new Map<string, Map<string, number>>();
    for (const { endpoint, holder, jobs } of holders) {
      const known = jobsOf.get(endpoint);
      if (known) known.set(workerOf(holder), jobs);
      else jobsOf.set(endpoint, new Map([[workerOf(holder), jobs]]));
    }
    const balanced = balancer.endpoints();
    for (const endpoint of balanced) jobsOf.set(endpoint, balancer.requestsOf(endpoint));
    return {
      now,
      demand: new Map([...demand, ...balanced.map((id) => loadOn(balancer, id))].map((one) => [one.endpoint, one])),
      workers: Map.groupBy(workers, ({ doc }) => doc.endpoint),
      jobsOf,
      roll: there,
    };
  }

  /** Plans for these endpoints, in turn, on one view of what is free. */
  async plan(endpoints: Iterable<Item<KeptEndpoint>>, survey: Survey): Promise<void> {
    const taken = [...survey.workers.values()].flat().flatMap(takenBy);
    const room = new Room(survey.roll.machines, taken);
    const there = new Set(survey.roll.machines.map(({ id }) => id));
    for (const endpoint of endpoints) {
      const steps = plan(this.#factsOf(endpoint, survey, room, there));
      for (const step of steps) await this.#carryOut(endpoint, step);
    }
  }

  /** A worker ends what it has and gets nothing more, whichever machine it is on. */
  async drain(id: string, reason: string): Promise<void> {
    const worker = (await this.#parts.records.all()).find((item) => item.id === id);
    if (worker && workerLifecycle.can(worker.doc.state, "drain")) await this.#end(worker, reason);
  }

  /** Of an endpoint that is no more. */
  async endAll(workers: readonly WorkerItem[]): Promise<void> {
    for (const worker of workers) await this.#end(worker, "its endpoint was deleted");
  }

  #factsOf({ id, doc }: Item<KeptEndpoint>, survey: Survey, room: Room, there: ReadonlySet<string>): Facts {
    const { now, demand, workers, roll } = survey;
    const jobsOf = survey.jobsOf.get(id) ?? new Map<string, number>();
    return {
      endpoint: doc,
      workers: workers.get(id) ?? [],
      load: loadOf(demand.get(id)),
      jobsOf,
      idleSince: (worker) =>
        jobsOf.get(worker) === 0 ? (this.#parts.activeAt(id, worker) ?? roll.activeAt.get(worker)) : undefined,
      room,
      isThere: (machine) => there.has(machine),
      now,
    };
  }

  /** A write that somebody else was faster with is left to the next pass. */
  async #carryOut(endpoint: Item<KeptEndpoint>, step: Step): Promise<void> {
    const { records, act } = this.#parts;
    switch (step.do) {
      case "add":
        return act(await this.#insert(endpoint, { state: "PLACED", ...placed(step.place), reason: null }));
      case "want":
        await this.#insert(endpoint, { state: "WANTED", ...NOWHERE, reason: step.reason });
        return;
      case "place": {
        const moved = await records.move(step.worker, "place", { ...placed(step.place), reason: null });
        if (moved) act(moved);
        return;
      }
      case "explain":
        await records.update(step.worker, { reason: step.reason });
        return;
      case "drain":
        return this.#end(step.worker, step.reason);
      case "lose":
      case "forget":
        return this.#forget(step.worker);
    }
  }

  /** One that runs is drained; of another nothing but its record is there. */
  async #end(worker: WorkerItem, reason: string): Promise<void> {
    const { records, act } = this.#parts;
    if (worker.doc.state === "DRAINING") return act(worker);
    if (!workerLifecycle.can(worker.doc.state, "drain")) return this.#forget(worker);
    const moved = await records.move(worker, "drain", { reason });
    if (moved) act(moved);
  }

  async #forget({ id, doc }: WorkerItem): Promise<void> {
    if (doc.keyId !== null) await this.#parts.keys.revoke(doc.keyId);
    await this.#parts.records.remove(id);
  }

  #insert(endpoint: Item<KeptEndpoint>, where: Where): Promise<WorkerItem> {
    const { records, random, clock } = this.#parts;
    const { image, release } = endpoint.doc;
    const unknown = { keyId: null, startedAt: null, readyAt: null, failedAt: null };
    return records.insert({
      id: resourceId(random),
      account: endpoint.account,
      createdAt: clock.now(),
      doc: { endpoint: endpoint.id, release, image, ...where, ...unknown },
    });
  }
}

type Where = Pick<KeptWorker, "state" | "machine" | "vcpu" | "memoryMb" | "gpuType" | "gpuCount" | "gpus" | "reason">;

const NOWHERE = { machine: null, vcpu: 0, memoryMb: 0, gpuType: null, gpuCount: 0, gpus: [] };

const placed = ({ machine, vcpu, memoryMb, gpuType, gpus }: Place) => ({
  machine,
  vcpu,
  memoryMb,
  gpuType,
  gpuCount: gpus.length,
  gpus,
});

/** Whoever has a machine has its share of it, until nothing of it is left there. */
function takenBy({ doc }: WorkerItem): Place[] {
  const { machine, vcpu, memoryMb, gpuType, gpus, state } = doc;
  return machine === null || state === "FAILED" ? [] : [{ machine, vcpu, memoryMb, gpuType, gpus }];
}

/** A request to a worker counts as a job: those that wait ask for workers in the same way. */
function loadOn(balancer: Balancer, endpoint: string): Demand {
  const { waiting, inFlight } = balancer.demand(endpoint);
  return { endpoint, inQueue: waiting, lowPriorityInQueue: 0, inProgress: inFlight, waitingSince: [] };
}

function loadOf(demand: Demand | undefined) {
  if (!demand) return { waiting: 0, lowPriorityWaiting: 0, inProgress: 0, waitingSince: [] };
  const { inQueue, lowPriorityInQueue, inProgress, waitingSince } = demand;
  return { waiting: inQueue - lowPriorityInQueue, lowPriorityWaiting: lowPriorityInQueue, inProgress, waitingSince };
}
