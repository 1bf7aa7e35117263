/** The records of workers, as the fleet reads and writes them: instances of one kind, moved by the worker's lifecycle. */
import { withPlacesHidden } from "../../kernel/reason.ts";
import type { Counted, InstanceRecords, NewInstance } from "../../machines/instance-records.ts";
import type { InstanceItem, KeptInstance } from "../../machines/instances.ts";
import type { Place } from "../../machines/place.ts";
import type { Metered } from "../../metering/meter.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";
import { type KeptWorker, type WorkerMove, workerLifecycle } from "./model.ts";
import { moveOldWorkers } from "./old-workers.ts";

export type WorkerItem = Item<KeptWorker>;

/** What is to be known of a worker after a change. */
type Set = Partial<Omit<KeptWorker, "state">>;

export class WorkerRecords {
  readonly instances: InstanceRecords;
  readonly #store: Store;

  constructor(parts: { store: Store; instances: InstanceRecords }) {
    this.instances = parts.instances;
    this.#store = parts.store;
  }

  async prepare(): Promise<void> {
    await moveOldWorkers(this.#store, this.instances);
  }

  async all(): Promise<WorkerItem[]> {
    return (await this.instances.all()).filter(isWorker);
  }

  async find(id: string): Promise<WorkerItem | undefined> {
    const item = await this.instances.find(id);
    return item && isWorker(item) ? item : undefined;
  }

  async ofEndpoint(endpoint: string): Promise<WorkerItem[]> {
    return (await this.all()).filter(({ doc }) => doc.owner === endpoint);
  }

  async ofMachine(machine: string): Promise<WorkerItem[]> {
    return (await this.all()).filter(({ doc }) => doc.machine === machine);
  }

  /** Undefined when somebody else took the room since it was counted. */
  async insert(worker: NewInstance<KeptWorker>, counted: Pick<Counted, "taking">): Promise<WorkerItem | undefined> {
    return (await this.instances.insert([{ ...worker, doc: tellableIn(worker.doc) }], counted))?.[0];
  }

  /** Gives a worker that waits its place, on the same terms. */
  place(
    item: WorkerItem,
    place: Place & Pick<KeptWorker, "volumes">,
    counted: Pick<Counted, "taking">,
  ): Promise<WorkerItem | undefined> {
    const state = workerLifecycle.move(item.id, item.doc.state, "place");
    return this.instances.place<KeptWorker>(item, { ...place, state, reason: null }, counted);
  }

  /**
   * The worker after this move, or undefined when somebody changed or removed it first; a move that the table lacks is refused.
   */
  move(item: WorkerItem, move: WorkerMove, set: Set = {}, metered?: Metered): Promise<WorkerItem | undefined> {
    const state = workerLifecycle.move(item.id, item.doc.state, move);
    return this.instances.patch(item, { ...tellableIn(set), state }, metered);
  }

  /** Makes a move however often somebody else changes the record first, as long as there is the move; undefined when there is not. */
  async insist(item: WorkerItem, move: WorkerMove, set: Set, metered?: Metered): Promise<WorkerItem | undefined> {
    for (let now: WorkerItem | undefined = item; now; now = await this.find(item.id)) {
      if (!workerLifecycle.can(now.doc.state, move)) return undefined;
      const moved = await this.move(now, move, set, metered);
      if (moved) return moved;
    }
    return undefined;
  }

  /** Changes what is known of a worker that stays in its state, on the same terms as `move`. */
  update(item: WorkerItem, set: Set): Promise<WorkerItem | undefined> {
    return this.instances.patch<KeptWorker>(item, tellableIn(set));
  }

  /** One that is already gone is no error. */
  remove(id: string, metered?: Metered): Promise<void> {
    return this.instances.remove<KeptWorker>(id, ({ state }) => workerLifecycle.move(id, state, "end"), metered);
  }
}

/** Why it is as it is, as accounts may read it. */
function tellableIn<S extends Set>(set: S): S {
  const { reason, hindrance } = set;
  return {
    ...set,
    ...(reason && { reason: withPlacesHidden(reason) }),
    ...(hindrance && { hindrance: { ...hindrance, reason: withPlacesHidden(hindrance.reason) } }),
  };
}

const isWorker = (item: InstanceItem<KeptInstance>): item is WorkerItem => item.doc.kind === "worker";
