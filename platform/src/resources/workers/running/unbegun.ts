/** What becomes of a worker that cannot begin on its machine now: it waits there, waits for room again, or another one begins elsewhere. */
import { because, isSameReason, type Reason } from "../../../kernel/reason.ts";
import { NOWHERE } from "../../../machines/instances.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { WorkerItem } from "../records.ts";
import type { WorkerHandParts } from "./hand-parts.ts";

/** A worker that found no room on its machine is not placed again before this time. The driver would only refuse again. */
const PLACE_AGAIN_MS = 10_000;

interface UnbegunParts
  extends Pick<WorkerHandParts, "records" | "clock" | "changed" | "workerLog" | "machine" | "runsElsewhere"> {
  find: (id: string) => Promise<WorkerItem | undefined>;
  /** Removes what the machine has of a worker. */
  clear: (worker: WorkerItem, how: string) => Promise<void>;
  /** Removes the worker's hold on jobs and its key. */
  letGo: (worker: WorkerItem, how: string) => Promise<void>;
}

export class Unbegun {
  readonly #parts: UnbegunParts;

  constructor(parts: UnbegunParts) {
    this.#parts = parts;
  }

  async waitFor(id: string, reason: Reason): Promise<void> {
    const worker = await this.#parts.find(id);
    if (!worker || isSameReason(reason, worker.doc.reason)) return;
    this.#parts.workerLog.say(worker, reason.text);
    await this.#parts.records.update(worker, { reason });
  }

  /** The machine has no room for the worker after all. The worker waits for room again. */
  async unplace(worker: WorkerItem, why: string): Promise<void> {
    const { records, clock, changed, workerLog, clear } = this.#parts;
    const reason = because("no-capacity", { need: why, lacks: "place" });
    workerLog.say(worker, reason.text);
    await clear(worker, "found no room");
    const placeableAt = clock.now() + PLACE_AGAIN_MS;
    await records.insist(worker, "unplace", { ...NOWHERE, reason, keyId: null, placeableAt });
    changed(worker.doc.owner);
  }

  /**
   * The driver is away. If another machine can run such a worker, one is started there. What the driver may have of this one is removed
   * once it is back, since then it has no record.
   */
  async away(worker: WorkerItem, endpoint: Item<KeptEndpoint>, reason: Reason): Promise<void> {
    const { machine, runsElsewhere, workerLog, letGo, records, changed } = this.#parts;
    if (!(await runsElsewhere(endpoint.doc, machine))) return this.waitFor(worker.id, reason);
    workerLog.say(worker, `${reason.text}; another worker starts on another machine`);
    await letGo(worker, "could not begin");
    await records.remove(worker.id);
    changed(worker.doc.owner);
  }
}
