/** The records of workers as the fleet reads and writes them: remembered for a moment, changed only by compare-and-set. */
import type { Clock } from "../../kernel/clock.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import { type Store, WriteRefused } from "../../ports/store/store.ts";
import { type KeptWorker, type WorkerMove, workerLifecycle, workers } from "./model.ts";

export type WorkerItem = Item<KeptWorker>;

/** What this node wrote is seen here at once; what another node or process wrote, within this time. */
const REMEMBERED_MS = 1000;

export class WorkerRecords {
  readonly #workers: Collection<KeptWorker>;
  readonly #clock: Clock;
  #known = new Map<string, WorkerItem>();
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** What was written while the records were being read, so that the reading does not undo it; undefined for a removed one. */
  readonly #written = new Map<string, WorkerItem | undefined>();

  constructor(parts: { store: Store; clock: Clock }) {
    this.#workers = new Collection(parts.store, workers);
    this.#clock = parts.clock;
  }

  prepare(): Promise<void> {
    return this.#workers.prepare();
  }

  async all(): Promise<WorkerItem[]> {
    if (this.#clock.monotonic() - this.#readAt >= REMEMBERED_MS) {
      this.#reading ??= this.#read().finally(() => {
        this.#reading = undefined;
      });
      await this.#reading;
    }
    return [...this.#known.values()];
  }

  async ofEndpoint(endpoint: string): Promise<WorkerItem[]> {
    return (await this.all()).filter(({ doc }) => doc.endpoint === endpoint);
  }

  async ofMachine(machine: string): Promise<WorkerItem[]> {
    return (await this.all()).filter(({ doc }) => doc.machine === machine);
  }

  async insert(worker: { id: string; account: string; createdAt: number; doc: KeptWorker }): Promise<WorkerItem> {
    const item = await this.#workers.insert(worker);
    this.#note(item.id, item);
    return item;
  }

  /** The worker after this move, or undefined when somebody changed or removed it first; a move that the table lacks is refused. */
  move(item: WorkerItem, move: WorkerMove, set: Partial<Omit<KeptWorker, "state">> = {}) {
    return this.#patch(item, { ...set, state: workerLifecycle.next(item.doc.state, move) });
  }

  /** Makes a move however often somebody else changes the record first, as long as there is the move; undefined when there is not. */
  async insist(
    item: WorkerItem,
    move: WorkerMove,
    set: Partial<Omit<KeptWorker, "state">>,
  ): Promise<WorkerItem | undefined> {
    for (let now: WorkerItem | undefined = item; now; now = await this.#find(item.id)) {
      if (!workerLifecycle.can(now.doc.state, move)) return undefined;
      const moved = await this.move(now, move, set);
      if (moved) return moved;
    }
    return undefined;
  }

  /** Changes what is known of a worker that stays in its state, on the same terms as `move`. */
  update(item: WorkerItem, set: Partial<Omit<KeptWorker, "state">>): Promise<WorkerItem | undefined> {
    return this.#patch(item, set);
  }

  /** One that is already gone is no error. */
  async remove(id: string): Promise<void> {
    await this.#workers.removeIfThere(id);
    this.#note(id, undefined);
  }

  async #find(id: string): Promise<WorkerItem | undefined> {
    return (await this.all()).find((item) => item.id === id);
  }

  async #patch(item: WorkerItem, set: Partial<KeptWorker>): Promise<WorkerItem | undefined> {
    try {
      const patched = await this.#workers.patch(item, set);
      this.#note(item.id, patched);
      return patched;
    } catch (error) {
      if (!(error instanceof WriteRefused)) throw error;
      // What is remembered is behind: the next reader gets the truth.
      this.#readAt = Number.NEGATIVE_INFINITY;
      return undefined;
    }
  }

  async #read(): Promise<void> {
    this.#written.clear();
    const startedAt = this.#clock.monotonic();
    const found = new Map<string, WorkerItem>();
    for await (const item of this.#workers.all()) found.set(item.id, item);
    for (const [id, item] of this.#written) {
      if (!item) found.delete(id);
      else if (item.version > (found.get(id)?.version ?? 0)) found.set(id, item);
    }
    this.#known = found;
    this.#readAt = startedAt;
  }

  #note(id: string, item: WorkerItem | undefined): void {
    if (item) this.#known.set(id, item);
    else this.#known.delete(id);
    if (this.#reading) this.#written.set(id, item);
  }
}
