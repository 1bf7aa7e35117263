/** Knows which workers of one machine need no look: nothing about them changed, and nothing is due by time. */
import { SILENT_AFTER_MS } from "../../../jobs/silence.ts";
import type { WorkerDesk } from "../../../jobs/worker-desk.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { HolderState } from "../../../ports/queue/queue.ts";
import type { WorkerItem } from "../records.ts";
import { callOf } from "./call.ts";
import type { Freezer } from "./freezer.ts";
import type { Hindrances } from "./hindrances.ts";
import type { Rotation } from "./rotation.ts";

export interface CalmParts {
  clock: Clock;
  desk: WorkerDesk;
  rotation: Rotation;
  freezer: Freezer;
  hindrances: Hindrances;
}

interface Calm {
  /** Records are replaced and never changed, so another object means that the worker must be looked at. Undefined if it is not calm. */
  worker: WorkerItem | undefined;
  /** The worker's name at the desk. */
  readonly holder: string;
  /** The moment, on the monotonic clock, at which the worker is silent unless it is heard of before. */
  untilMs: number;
}

export class CalmWorkers {
  readonly #parts: CalmParts;
  readonly #calm = new Map<string, Calm>();
  /** The workers of the last look, and what is known of each, in the same order: thousands are compared every second. */
  #workers: readonly WorkerItem[] = [];
  #known: readonly Calm[] = [];

  constructor(parts: CalmParts) {
    this.#parts = parts;
  }

  /** The workers that need a look now. */
  others(workers: readonly WorkerItem[]): WorkerItem[] {
    const nowMs = this.#parts.clock.monotonic();
    if (workers !== this.#workers) {
      this.#workers = workers;
      this.#known = workers.map((worker) => this.#knownOf(worker));
    }
    return workers.filter((worker, i) => !this.#isStill(worker, this.#known[i]!, nowMs));
  }

  /** Returns whether the worker is well. Then it needs no look until it would be silent for too long, by what is known now. */
  note(worker: WorkerItem, holder: HolderState | undefined, silentMs: number): boolean {
    const { rotation, hindrances, clock } = this.#parts;
    const speaks = holder !== undefined && !rotation.has(worker.id);
    const isCalm = (speaks && hindrances.isWell(worker, holder, silentMs)) || this.#isQuiet(worker);
    const untilMs = speaks ? clock.monotonic() + SILENT_AFTER_MS - silentMs : Number.POSITIVE_INFINITY;
    if (isCalm) Object.assign(this.#knownOf(worker), { worker, untilMs });
    return isCalm;
  }

  forget(id: string): void {
    const known = this.#calm.get(id);
    if (known) known.worker = undefined;
    this.#calm.delete(id);
  }

  #knownOf(worker: WorkerItem): Calm {
    const known = this.#calm.get(worker.id) ?? { worker: undefined, holder: callOf(worker).worker, untilMs: 0 };
    this.#calm.set(worker.id, known);
    return known;
  }

  /** Nothing is due by time for a frozen worker, nor for a load-balanced one that is healthy: its health check reports what changes. */
  #isQuiet(worker: WorkerItem): boolean {
    const { rotation, freezer } = this.#parts;
    const { id, doc } = worker;
    if (freezer.isThawing(id) || !freezer.isSettled(worker)) return false;
    return doc.state === "FROZEN" || (doc.state === "READY" && !doc.hindrance && rotation.ailmentOf(id) === null);
  }

  #isStill(worker: WorkerItem, calm: Calm, nowMs: number): boolean {
    const { desk, rotation, freezer } = this.#parts;
    if (calm.worker !== worker || nowMs >= calm.untilMs) return false;
    // A worker that is at a job may lose it at any time, and one that is unhealthy is replaced after a while.
    return !desk.overruns.isAtJob(calm.holder) && !rotation.ailmentOf(worker.id) && freezer.isSettled(worker);
  }
}
