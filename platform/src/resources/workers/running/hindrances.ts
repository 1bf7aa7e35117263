/** Checks whether the running workers of one machine can take work, and records what keeps them from it. */
import { STOP_GRACE_MS } from "../../../jobs/sessions.ts";
import { SILENT_AFTER_MS } from "../../../jobs/silence.ts";
import type { WorkerDesk } from "../../../jobs/worker-desk.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { because, isSameReason, type Reason } from "../../../kernel/reason.ts";
import type { HolderState } from "../../../ports/queue/queue.ts";
import { atLostJob, hindranceOf, silence } from "../hindrance.ts";
import type { Hindrance } from "../model.ts";
import type { WorkerItem, WorkerRecords } from "../records.ts";
import { callOf } from "./call.ts";
import type { Ailment, Rotation } from "./rotation.ts";

export interface HindranceParts {
  desk: WorkerDesk;
  rotation: Rotation;
  records: WorkerRecords;
  clock: Clock;
  /** Called when something happened to a worker of this endpoint, which may need another one. */
  changed: (endpoint: string) => void;
}

/** A load-balanced worker that is unhealthy for this long is replaced. */
const REPLACED_AFTER_MS = 30_000;

export class Hindrances {
  readonly #parts: HindranceParts;

  constructor(parts: HindranceParts) {
    this.#parts = parts;
  }

  /** Whether it can be seen at once that a worker of a queue is not hindered and was not before: nearly every worker at every look. */
  isWell({ doc }: WorkerItem, { holder }: HolderState, silentMs: number): boolean {
    const isHeard = doc.state === "READY" && silentMs < SILENT_AFTER_MS && !doc.hindrance;
    return isHeard && this.#parts.desk.overruns.isFree({ endpoint: doc.owner, worker: holder });
  }

  /** `silentMs` is the time since the worker was last heard of. Returns true if the worker was drained, because it is hindered for good. */
  async look(worker: WorkerItem, silentMs = 0): Promise<boolean> {
    if (worker.doc.state !== "READY") return false;
    if (!this.#parts.rotation.has(worker.id)) return this.#lookAtJobs(worker, silentMs);
    await this.#lookAtHealth(worker);
    return false;
  }

  /**
   * Why a load-balanced worker is given up. A worker with requests may be too busy to answer its health check, so it is judged when it has
   * none.
   */
  overdue(worker: string): Reason | undefined {
    const { rotation, clock } = this.#parts;
    const ailment = rotation.ailmentOf(worker);
    if (!ailment || ailment.isOnItsWay || rotation.isBusy(worker)) return undefined;
    const isOverdue = clock.monotonic() - ailment.sinceMs >= REPLACED_AFTER_MS;
    return isOverdue ? because("unhealthy", { check: ailment.reason, seconds: REPLACED_AFTER_MS / 1000 }) : undefined;
  }

  async #lookAtHealth(worker: WorkerItem): Promise<void> {
    const ailment = this.#parts.rotation.ailmentOf(worker.id);
    if (ailment !== undefined) await this.#note(worker, ailment ? this.#ofHealth(ailment) : undefined);
  }

  #ofHealth({ sinceMs, reason: check, isOnItsWay }: Ailment): Hindrance {
    const since = this.#parts.clock.now() - (this.#parts.clock.monotonic() - sinceMs);
    return isOnItsWay
      ? { kind: "rising", since, reason: because("getting-ready", { check }) }
      : { kind: "unhealthy", since, reason: because("unhealthy", { check }) };
  }

  async #lookAtJobs(worker: WorkerItem, silentMs: number): Promise<boolean> {
    const { desk, clock } = this.#parts;
    const now = clock.now();
    const isSilent = silentMs >= SILENT_AFTER_MS;
    // Nobody knows what a silent worker is doing. Its job may have gone to others because of the silence alone.
    const overrun = isSilent ? undefined : await desk.overruns.find(callOf(worker));
    const atJob = overrun && atLostJob(overrun, now);
    if (overrun && overrun.forMs >= STOP_GRACE_MS)
      return this.#drain(worker, because("at-lost-job", { job: overrun.job, seconds: STOP_GRACE_MS / 1000 }));
    await this.#note(worker, isSilent ? silence(silentMs, now) : atJob);
    return false;
  }

  /** Its handler cannot be stopped from within, so only a new worker helps. */
  async #drain(worker: WorkerItem, reason: Reason): Promise<boolean> {
    return (await this.#parts.records.move(worker, "drain", { reason })) !== undefined;
  }

  async #note(worker: WorkerItem, now: Hindrance | undefined): Promise<void> {
    const before = hindranceOf(worker);
    if (before?.kind === now?.kind && isSameReason(before?.reason, now?.reason)) return;
    // If a previous process saw a hindrance of the same kind, it has lasted since then.
    const hindrance = now && before?.kind === now.kind ? { ...now, since: before.since } : (now ?? null);
    if (await this.#parts.records.update(worker, { hindrance })) this.#parts.changed(worker.doc.owner);
  }
}
