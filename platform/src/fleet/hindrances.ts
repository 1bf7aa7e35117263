/** Looks whether workers of one machine that run can take work, and puts on record what keeps them from it. */
import { STOP_GRACE_MS } from "../jobs/sessions.ts";
import type { WorkerDesk } from "../jobs/worker-desk.ts";
import type { Clock } from "../kernel/clock.ts";
import { hindranceOf } from "../resources/workers/hindrance.ts";
import type { Hindrance } from "../resources/workers/model.ts";
import type { WorkerItem, WorkerRecords } from "../resources/workers/records.ts";
import { callOf } from "./call.ts";

export interface HindranceParts {
  desk: WorkerDesk;
  records: WorkerRecords;
  clock: Clock;
  /** Something happened to a worker of this endpoint: it may need another. */
  changed: (endpoint: string) => void;
}

export class Hindrances {
  readonly #parts: HindranceParts;

  constructor(parts: HindranceParts) {
    this.#parts = parts;
  }

  /** True when the worker was drained, since it is hindered for good. */
  async look(worker: WorkerItem): Promise<boolean> {
    const { desk, clock } = this.#parts;
    if (worker.doc.state !== "READY") return false;
    const overrun = await desk.overruns.find(callOf(worker));
    const reason = `still busy with ${overrun?.job}`;
    if (overrun && overrun.forMs >= STOP_GRACE_MS)
      return this.#drain(worker, `${reason} after ${STOP_GRACE_MS / 1000} s`);
    await this.#note(worker, overrun && { kind: "overrun", since: clock.now() - overrun.forMs, reason });
    return false;
  }

  /** A handler that cannot be stopped from within: nothing but a fresh worker helps. */
  async #drain(worker: WorkerItem, reason: string): Promise<boolean> {
    return (await this.#parts.records.move(worker, "drain", { reason })) !== undefined;
  }

  async #note(worker: WorkerItem, now: Hindrance | undefined): Promise<void> {
    const before = hindranceOf(worker);
    if (before?.kind === now?.kind && before?.reason === now?.reason) return;
    if (await this.#parts.records.update(worker, { hindrance: now ?? null })) this.#parts.changed(worker.doc.endpoint);
  }
}
