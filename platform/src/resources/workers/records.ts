/** The records of workers, as the fleet reads and writes them. They are instances of one kind, moved by the worker's lifecycle. */
import { holderName } from "../../jobs/holder.ts";
import { onceFor } from "../../kernel/once-for.ts";
import { withPlacesHidden } from "../../kernel/reason.ts";
import type { Counted, InstanceRecords, NewInstance } from "../../machines/instance-records.ts";
import type { InstanceItem, KeptInstance } from "../../machines/instances.ts";
import type { Place } from "../../machines/place.ts";
import type { Metered } from "../../metering/meter.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import { type KeptWorker, type WorkerMove, workerLifecycle } from "./model.ts";
import { moveOldWorkers } from "./old-workers.ts";

export type WorkerItem = Item<KeptWorker>;

/** The workers at one moment. */
export interface Grouped {
  all: readonly WorkerItem[];
  /** The names under which these workers hold jobs. */
  holders: ReadonlySet<string>;
  byEndpoint: ReadonlyMap<string, WorkerItem[]>;
  byMachine: ReadonlyMap<string | null, readonly WorkerItem[]>;
}

/** The fields of a worker that a change can set. */
type Set = Partial<Omit<KeptWorker, "state">>;

export class WorkerRecords {
  readonly instances: InstanceRecords;
  readonly #store: Store;
  #grouped: (Grouped & { revision: number }) | undefined;

  constructor(parts: { store: Store; instances: InstanceRecords }) {
    this.instances = parts.instances;
    this.#store = parts.store;
  }

  async prepare(): Promise<void> {
    await moveOldWorkers(this.#store, this.instances);
  }

  async all(): Promise<WorkerItem[]> {
    return [...(await this.grouped()).all];
  }

  /** All workers, also by endpoint. They are gathered anew only after a change, since plans ask every second. */
  async grouped(): Promise<Grouped> {
    if (this.#grouped?.revision === (await this.instances.currentRevision())) return this.#grouped;
    // Nothing is awaited from here on, so that the list and its revision belong together.
    const all = this.instances.remembered().filter(isWorker);
    this.#grouped = {
      revision: this.instances.revision,
      all,
      holders: new Set(all.map(({ id, doc }) => holderName(doc.owner, id))),
      byEndpoint: Map.groupBy(all, ({ doc }) => doc.owner),
      byMachine: Map.groupBy(all, ({ doc }) => doc.machine),
    };
    return this.#grouped;
  }

  async find(id: string): Promise<WorkerItem | undefined> {
    const item = await this.instances.find(id);
    return item && isWorker(item) ? item : undefined;
  }

  async findOn(machine: string, id: string): Promise<WorkerItem | undefined> {
    const worker = await this.find(id);
    return worker?.doc.machine === machine ? worker : undefined;
  }

  async ofEndpoint(endpoint: string): Promise<WorkerItem[]> {
    return (await this.instances.ofOwner(endpoint)).filter(isWorker);
  }

  /** The same list until a worker changes. */
  async ofMachine(machine: string): Promise<readonly WorkerItem[]> {
    return (await this.grouped()).byMachine.get(machine) ?? NONE;
  }

  /**
   * Undefined if somebody else took the room since it was counted, or if more than `most` workers of the endpoint would then live, because
   * somebody else has added some.
   */
  async insert(
    worker: NewInstance<KeptWorker>,
    counted: Pick<Counted, "taking">,
    most?: number,
  ): Promise<WorkerItem | undefined> {
    return (await this.instances.insert([{ ...worker, doc: tellableIn(worker.doc) }], counted, [], most))?.[0];
  }

  /** Gives a waiting worker its place. Undefined if somebody else took the room. */
  place(
    item: WorkerItem,
    place: Place & Pick<KeptWorker, "volumes" | "models">,
    counted: Pick<Counted, "taking">,
  ): Promise<WorkerItem | undefined> {
    const state = workerLifecycle.move(item.id, item.doc.state, "place");
    return this.instances.place<KeptWorker>(item, { ...place, state, reason: null }, counted);
  }

  /** Returns the worker after this move, or undefined if somebody changed or removed it first. Throws if the lifecycle has no such move. */
  move(item: WorkerItem, move: WorkerMove, set: Set = {}, metered?: Metered): Promise<WorkerItem | undefined> {
    const state = workerLifecycle.move(item.id, item.doc.state, move);
    return this.instances.patch(item, { ...tellableIn(set), state }, metered);
  }

  /** Undefined if somebody changed or removed the worker first, or if more than `most` workers of its endpoint would then live. */
  thaw(item: WorkerItem, most: number): Promise<WorkerItem | undefined> {
    const state = workerLifecycle.move(item.id, item.doc.state, "thaw");
    return this.instances.patch<KeptWorker>(item, { state, reason: null }, {}, [], most);
  }

  /**
   * Repeats the move until it succeeds, however often somebody else changes the record first. Undefined if the move is not possible any
   * more.
   */
  async insist(item: WorkerItem, move: WorkerMove, set: Set, metered?: Metered): Promise<WorkerItem | undefined> {
    for (let now: WorkerItem | undefined = item; now; now = await this.find(item.id)) {
      if (!workerLifecycle.can(now.doc.state, move)) return undefined;
      const moved = await this.move(now, move, set, metered);
      if (moved) return moved;
    }
    return undefined;
  }

  /** Changes a worker without a change of state. Undefined if somebody changed or removed it first. */
  update(item: WorkerItem, set: Set, also: readonly Write[] = []): Promise<WorkerItem | undefined> {
    return this.instances.patch<KeptWorker>(item, tellableIn(set), {}, also);
  }

  /** Removing a worker that is already gone is not an error. */
  remove(id: string, metered?: Metered): Promise<void> {
    return this.instances.remove<KeptWorker>(id, ({ state }) => workerLifecycle.move(id, state, "end"), metered);
  }
}

/** Leaves paths of the server's own files out of reasons, so that accounts may read them. */
function tellableIn<S extends Set>(set: S): S {
  const { reason, hindrance } = set;
  return {
    ...set,
    ...(reason && { reason: withPlacesHidden(reason) }),
    ...(hindrance && { hindrance: { ...hindrance, reason: withPlacesHidden(hindrance.reason) } }),
  };
}

/** The workers of a list by id, once for each list. */
export const byId = onceFor((list: readonly WorkerItem[]) => new Map(list.map((worker) => [worker.id, worker])));

const NONE: readonly WorkerItem[] = [];

const isWorker = (item: InstanceItem<KeptInstance>): item is WorkerItem => item.doc.kind === "worker";
