/** The planner gathers the facts about endpoints that need workers, plans for each, and writes the plans into the records. */

import type { Balancer } from "../../../balancing/balancer.ts";
import { eachOf } from "../../../kernel/bounded.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { resourceId } from "../../../kernel/ids.ts";
import type { Random } from "../../../kernel/random.ts";
import { because, type Reason } from "../../../kernel/reason.ts";
import { heldBy } from "../../../machines/held.ts";
import type { Counted } from "../../../machines/instance-records.ts";
import { type InstanceItem, NOWHERE, type Placing, placeOf } from "../../../machines/instances.ts";
import type { Roll } from "../../../machines/machines.ts";
import type { Need } from "../../../machines/need.ts";
import type { Machine, Place } from "../../../machines/place.ts";
import { Room } from "../../../machines/room.ts";
import type { SilentSince } from "../../../machines/silences.ts";
import type { Demand, Queue } from "../../../ports/queue/queue.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { QuotaBook } from "../../account/quotas.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import { volumeIn } from "../../endpoints/volumes.ts";
import type { WorkerKeys } from "../../endpoints/worker-keys.ts";
import type { ModelService, ModelStanding } from "../../models/service.ts";
import type { SpendBook } from "../../spending/service.ts";
import { type KeptWorker, workerLifecycle } from "../model.ts";
import type { WorkerRecords } from "../records.ts";
import { LiveWorkers } from "./live-workers.ts";
import { needOf } from "./need.ts";
import { type Facts, isRemoval, plan, type Step, type WorkerItem } from "./plan.ts";
import { isAtRest } from "./rest.ts";
import { AccountShare } from "./share.ts";
import { Shelf, type ShelfLimits } from "./shelf.ts";

export interface PlannerParts {
  queue: Queue;
  balancer: Balancer;
  records: WorkerRecords;
  keys: WorkerKeys;
  clock: Clock;
  random: Random;
  roll: () => Promise<Roll>;
  /** When a machine that is gone was last heard of, by its own clock. */
  lastSeen: (machine: string) => Promise<number | undefined>;
  /** When a worker last took or ended a job, as far as this node knows. */
  activeAt: (endpoint: string, worker: string) => number | undefined;
  /** Called after a write that the worker's machine has to act on. */
  act: (worker: WorkerItem) => void;
  /** Thaws a worker before that is recorded. Returns false if the worker is on another node's machine. */
  thawHere: (worker: WorkerItem) => Promise<boolean>;
  frozen: FrozenLimits;
  /** Why no new worker can be recorded, or undefined if nothing prevents it. */
  refusal: () => Reason | undefined;
  /** The quotas of accounts. */
  quotas: QuotaBook;
  /** Decides whether anything may be started for an account. */
  spending: Pick<SpendBook, "refusal">;
  /** Says what endpoints get of the models that they name. Without it there are none. */
  models?: Pick<ModelService, "standing">;
  /** Makes interruptible instances give way to a worker that finds no room. */
  makeRoom?: (need: Need, whom: string) => Promise<unknown>;
}

export interface FrozenLimits {
  /** How long a worker may stay frozen. */
  forMs: number;
  /** How much of a machine's memory its frozen workers may hold, by measurement. By default it is half of the memory. */
  memoryMb?: number;
}

/** The facts that plans are based on. */
export interface Survey {
  now: number;
  demand: ReadonlyMap<string, Demand>;
  workers: ReadonlyMap<string, WorkerItem[]>;
  /** Instances of every kind, since all of them take room. */
  counted: Counted;
  live: LiveWorkers;
  roll: Roll;
}

/** One view of what is free. Every plan made on it takes from it. */
export interface View extends Pick<Facts, "room" | "shelf" | "isThere" | "silentSince" | "isDraining"> {
  survey: Survey;
  shareOf: (account: string) => Promise<AccountShare>;
}

/** At most this many writes of plans run at once. */
const WRITES_AT_ONCE = 8;

/** An endpoint gets at most this many workers at once for jobs that waited too long. */
const MOST_WAITING = 100;

export class Planner {
  readonly #parts: PlannerParts;
  /** Workers that have to be drained whatever the plan says, with the reason, until that is recorded. */
  readonly #drains = new Map<string, Reason>();

  constructor(parts: PlannerParts) {
    this.#parts = parts;
  }

  async survey(): Promise<Survey> {
    const { queue, balancer, records, clock, roll } = this.#parts;
    const now = clock.now();
    const [demand, workers, counted, holders, there] = await Promise.all([
      queue.demand(MOST_WAITING),
      records.grouped(),
      records.instances.counted(),
      queue.holders(undefined),
      roll(),
    ]);
    const balanced = [...new Set([...balancer.endpoints(), ...there.demand.keys()])];
    const requests = new Map(balanced.map((endpoint) => [endpoint, balancer.requestsOf(endpoint)]));
    return {
      now,
      demand: new Map(
        [...demand, ...balanced.map((id) => loadOn(id, balancer, there))].map((one) => [one.endpoint, one]),
      ),
      workers: workers.byEndpoint,
      counted,
      live: new LiveWorkers({ holders, own: workers.holders, balanced: requests }),
      roll: there,
    };
  }

  begin(survey: Survey): View {
    const all = [...survey.workers.values()].flat();
    const room = new Room(survey.roll.machines, survey.counted.instances.flatMap(placeOf));
    const { heard, ...machines } = machinesIn(survey);
    // Frozen workers on a machine that is silent or being drained are never thawed.
    const isUsed = ({ machine }: KeptWorker) => heard.has(machine) && !heard.get(machine)!.isDraining;
    const frozen = all.filter(({ doc }) => doc.state === "FROZEN" && isUsed(doc));
    const shelf = new Shelf(frozen, room, endingPlaces(survey), this.#shelfLimits(survey.roll));
    return {
      survey,
      room,
      shelf,
      ...machines,
      shareOf: this.#shares(all, survey.counted.instances),
    };
  }

  /** Whether there is nothing to plan for an endpoint. */
  restIn(survey: Survey): (endpoint: Item<KeptEndpoint>) => boolean {
    const { isThere, silentSince, isDraining } = machinesIn(survey);
    return ({ id, doc }) =>
      isAtRest({
        endpoint: doc,
        workers: survey.workers.get(id) ?? [],
        workload: workloadOf(survey.demand.get(id)),
        jobsOf: survey.live.jobsOf(id),
        isThere,
        silentSince,
        isDraining,
      });
  }

  /** Plans for these endpoints one after the other, and then writes several plans at once. */
  async plan(endpoints: Iterable<Item<KeptEndpoint>>, { survey, shareOf, ...places }: View): Promise<void> {
    const plans: { endpoint: Item<KeptEndpoint>; steps: Step[] }[] = [];
    for (const endpoint of endpoints) {
      const share = await shareOf(endpoint.account);
      const unpaid = await this.#parts.spending.refusal(endpoint.account, endpoint.doc.createdBy);
      const facts = this.#factsOf(endpoint, survey, { ...places, share });
      const models = await this.#modelsOf(endpoint);
      const given = models && ("reason" in models ? { missing: models.reason } : { among: models.among });
      plans.push({ endpoint, steps: plan({ ...facts, unpaid: unpaid?.reason, ...given }) });
    }
    const writes = plans.flatMap(({ endpoint, steps }) => steps.map((step) => ({ endpoint, step })));
    for (const phase of [writes.filter(({ step }) => isRemoval(step)), writes.filter(({ step }) => !isRemoval(step))])
      await eachOf(phase, WRITES_AT_ONCE, ({ endpoint, step }) => this.#carryOut(endpoint, step, survey.counted));
    for (const { worker, reason } of places.shelf.letGoOverflow()) await this.#end(worker, reason);
  }

  async #modelsOf({ account, doc }: Item<KeptEndpoint>): Promise<ModelStanding | undefined> {
    const { modelReferences = [] } = doc;
    return modelReferences.length === 0 ? undefined : this.#parts.models?.standing(account, modelReferences);
  }

  /** What a worker mounts in this place. */
  async #mountsOf(endpoint: Item<KeptEndpoint>, { dataCenter }: Place): Promise<Mounts> {
    const volume = volumeIn(endpoint.doc, dataCenter);
    const models = await this.#modelsOf(endpoint);
    return {
      ...(volume && { volumes: [volume.id] }),
      ...(models && "mounts" in models && { models: models.mounts }),
    };
  }

  /** Drains a worker on any machine: it finishes its jobs and gets no more. */
  drain(id: string, reason: Reason): Promise<void> {
    this.#drains.set(id, reason);
    return this.catchUp();
  }

  /** Records drains that could not be recorded before. Without that, such a worker would get no work but be counted on forever. */
  async catchUp(): Promise<void> {
    const { records, act } = this.#parts;
    for (const [id, reason] of this.#drains) {
      const worker = await records.find(id);
      const moved = worker && (await records.insist(worker, "drain", { reason }));
      this.#drains.delete(id);
      if (moved) act(moved);
    }
  }

  /** Ends the workers of endpoints that were deleted. */
  async endAll(workers: readonly WorkerItem[]): Promise<void> {
    await eachOf(workers, WRITES_AT_ONCE, (worker) => this.#end(worker, because("endpoint-deleted")));
  }

  /** What each account may still have. All plans on one view share it. */
  #shares(
    workers: readonly WorkerItem[],
    instances: readonly InstanceItem[],
  ): (account: string) => Promise<AccountShare> {
    const byAccount = Map.groupBy(workers, ({ account }) => account);
    const holders = Map.groupBy(instances, ({ account }) => account);
    const shares = new Map<string, AccountShare>();
    return async (account) => {
      const known = shares.get(account);
      if (known) return known;
      const own = (byAccount.get(account) ?? []).map(({ doc }) => doc);
      const share = new AccountShare(await this.#parts.quotas.of(account), own, heldBy(holders.get(account) ?? []));
      shares.set(account, share);
      return share;
    };
  }

  #shelfLimits({ machines }: Roll): ShelfLimits {
    const { forMs, memoryMb } = this.#parts.frozen;
    const memoryOf = (boxes: Machine["boxes"]) => boxes.reduce((sum, box) => sum + box.memoryMb, 0);
    const half = new Map(machines.map(({ id, boxes }) => [id, Math.floor(memoryOf(boxes) / 2)]));
    return { forMs, memoryMb: (machine) => memoryMb ?? half.get(machine) ?? 0 };
  }

  #factsOf(
    { id, doc }: Item<KeptEndpoint>,
    survey: Survey,
    places: Pick<Facts, "room" | "share" | "shelf" | "isThere" | "silentSince" | "isDraining">,
  ): Facts {
    const { now, demand, workers, roll } = survey;
    const jobsOf = survey.live.jobsOf(id);
    return {
      endpoint: doc,
      workers: workers.get(id) ?? [],
      workload: workloadOf(demand.get(id)),
      jobsOf,
      idleSince: (worker) =>
        jobsOf.get(worker) === 0 ? (this.#parts.activeAt(id, worker) ?? roll.activeAt.get(worker)) : undefined,
      ...places,
      called: [...this.#parts.balancer.demand(id).resume, ...(roll.demand.get(id)?.resume ?? [])],
      now,
    };
  }

  /** If somebody else changed a record first, the next plan deals with it. */
  async #carryOut(endpoint: Item<KeptEndpoint>, step: Step, counted: Counted): Promise<void> {
    const { records, act, clock, refusal, makeRoom } = this.#parts;
    if ((step.do === "add" || step.do === "want") && refusal() !== undefined) return;
    switch (step.do) {
      case "add":
        return this.#add(endpoint, step.place, counted);
      case "want":
        await this.#insert(
          endpoint,
          { state: workerLifecycle.begin("WANTED"), ...NOWHERE, reason: step.reason },
          counted,
        );
        if (step.reason.code === "no-capacity") await makeRoom?.(needOf(endpoint.doc), endpoint.doc.name);
        return;
      case "place": {
        const mounts = await this.#mountsOf(endpoint, step.place);
        const moved = await records.place(step.worker, { ...step.place, ...mounts }, counted);
        if (moved) act(moved);
        return;
      }
      case "explain":
        await records.update(step.worker, { reason: step.reason });
        return;
      case "freeze": {
        const keptLast = isKeptLast(endpoint.doc);
        const set = { frozenAt: clock.now(), reason: step.reason, keptLast };
        const moved = await records.move(step.worker, "freeze", set);
        if (moved) act(moved);
        return;
      }
      case "thaw":
        return this.#thaw(step.worker, endpoint.doc.workers.max);
      case "drain":
        return this.#end(step.worker, step.reason);
      case "lose":
        return this.#forget(step.worker, (await this.#parts.lastSeen(step.worker.doc.machine!)) ?? 0);
      case "forget":
        return this.#forget(step.worker);
    }
  }

  /** A job waits for this worker. If it is on this node, it thaws before anything is written. */
  async #thaw(worker: WorkerItem, most: number): Promise<void> {
    const { records, act, thawHere } = this.#parts;
    if (await thawHere(worker)) return;
    const moved = await records.thaw(worker, most);
    if (moved) act(moved);
  }

  /** Drains a worker that runs. Of any other worker only the record exists, and is removed. */
  async #end(worker: WorkerItem, reason: Reason): Promise<void> {
    const { records, act } = this.#parts;
    if (worker.doc.state === "DRAINING") return act(worker);
    if (!workerLifecycle.can(worker.doc.state, "drain")) return this.#forget(worker);
    const moved = await records.move(worker, "drain", { reason });
    if (moved) act(moved);
  }

  async #forget({ id, doc }: WorkerItem, at?: number): Promise<void> {
    if (doc.keyId !== null) await this.#parts.keys.revoke(doc.keyId);
    await this.#parts.records.remove(id, { at });
  }

  /** If somebody else took the room meanwhile, the next plan looks for another. */
  async #add(endpoint: Item<KeptEndpoint>, place: Place, counted: Counted): Promise<void> {
    const mounts = await this.#mountsOf(endpoint, place);
    const where = { state: workerLifecycle.begin("PLACED"), ...place, ...mounts, reason: null };
    const added = await this.#insert(endpoint, where, counted);
    if (added) this.#parts.act(added);
  }

  /**
   * The commit itself keeps to the maximum: a planner that froze after its look may not be the only one any more, and another may have added
   * workers.
   */
  #insert(endpoint: Item<KeptEndpoint>, where: Where, counted: Counted): Promise<WorkerItem | undefined> {
    const { records, random, clock } = this.#parts;
    const { image, release, flashboot, template = null, createdBy = null, disk } = endpoint.doc;
    const keptLast = isKeptLast({ flashboot });
    const unknown = { keyId: null, startedAt: null, readyAt: null, failedAt: null };
    const worker = { id: resourceId(random), account: endpoint.account, createdAt: clock.now() };
    const doc = {
      kind: "worker" as const,
      owner: endpoint.id,
      ...{ release, image, template, createdBy, containerGb: disk, keptLast },
      ...where,
      ...unknown,
    };
    return records.insert({ ...worker, doc }, counted, endpoint.doc.workers.max);
  }
}

/** What is known of the machines, as plans ask for it. */
function machinesIn({ roll: { machines, silent } }: Survey) {
  const heard = new Map<string | null, Machine>(machines.map((machine) => [machine.id, machine]));
  const silentSince: SilentSince = (machine) => (machine === null ? undefined : silent.get(machine)?.since);
  return {
    heard,
    isThere: (machine: string) => heard.has(machine) || silent.get(machine)?.isGone === false,
    silentSince,
    isDraining: (machine: string) => heard.get(machine)?.isDraining === true,
  };
}

/** Read when a worker is created and again when it is frozen, since the endpoint may have changed. */
const isKeptLast = ({ flashboot }: Pick<KeptEndpoint, "flashboot">) => flashboot === "PRIORITY_FLASHBOOT";

type Mounts = Pick<KeptWorker, "volumes" | "models">;
type Where = Placing & Pick<KeptWorker, "state" | "reason"> & Mounts;

/** The places of workers that end and have no jobs left. They will be free in a moment. */
function endingPlaces({ workers, live }: Survey): Place[] {
  return [...workers].flatMap(([endpoint, own]) =>
    own.filter(({ id, doc }) => doc.state === "DRAINING" && !live.jobsOf(endpoint).get(id)).flatMap(placeOf),
  );
}

/** A request to a load-balanced worker counts as a job, and waiting requests ask for workers in the same way. */
function loadOn(endpoint: string, balancer: Balancer, { demand }: Roll): Demand {
  const { waiting, inFlight } = balancer.demand(endpoint);
  const elsewhere = demand.get(endpoint) ?? { waiting: 0, inFlight: 0 };
  return {
    endpoint,
    inQueue: waiting + elsewhere.waiting,
    lowPriorityInQueue: 0,
    inProgress: inFlight + elsewhere.inFlight,
    waitingSince: [],
  };
}

function workloadOf(demand: Demand | undefined) {
  if (!demand) return { waiting: 0, lowPriorityWaiting: 0, inProgress: 0, waitingSince: [] };
  const { inQueue, lowPriorityInQueue, inProgress, waitingSince } = demand;
  return { waiting: inQueue - lowPriorityInQueue, lowPriorityWaiting: lowPriorityInQueue, inProgress, waitingSince };
}
