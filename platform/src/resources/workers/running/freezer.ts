/** Stops the idle workers of one machine where they are, and lets them go on when they are needed, as their records say. */

import type { WorkerDesk } from "../../../jobs/worker-desk.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { floating } from "../../../kernel/floating.ts";
import { because, type Reason, reworded, saying } from "../../../kernel/reason.ts";
import { tellable } from "../../../kernel/tellable.ts";
import { whyLacking } from "../../../ports/compute/abilities.ts";
import type { Compute, InstanceState } from "../../../ports/compute/compute.ts";
import type { WorkerItem, WorkerRecords } from "../records.ts";
import { callOf } from "./call.ts";
import type { Rotation } from "./rotation.ts";
import type { WorkerLog } from "./worker-log.ts";

export interface FreezerParts {
  compute: Compute;
  desk: WorkerDesk;
  rotation: Rotation;
  records: WorkerRecords;
  workerLog: WorkerLog;
  clock: Clock;
  changed: (endpoint: string) => void;
  /** Its program goes on. */
  goesOn: (worker: WorkerItem) => Promise<void>;
}

/** The program stands still and cannot be made to go on. */
export class CannotThaw extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, options: ErrorOptions) {
    super(reason.text, options);
    this.reason = reason;
  }
}

/** A worker that has neither asked for work nor been found well so long after its thaw never will. */
const THAW_LIMIT_MS = 10_000;
const MB = 2 ** 20;

export class Freezer {
  readonly #parts: FreezerParts;
  /** Workers whose programs stand still. */
  readonly #frozen = new Set<string>();
  /** Those of them that a job waits for, before that is on record. */
  readonly #needed = new Set<string>();
  /** When workers were to go on that were not heard of since, and did, and for how long they had been frozen. */
  readonly #thawed = new Map<string, { atMs: number; wentOnAtMs?: number; frozenMs: number }>();

  constructor(parts: FreezerParts) {
    this.#parts = parts;
  }

  /** Whether it stands still if and only if its record says so. */
  isSettled({ id, doc }: WorkerItem): boolean {
    return this.#frozen.has(id) === (doc.state === "FROZEN");
  }

  /** The next `settle` thaws it, whatever its record says. */
  need(id: string): void {
    this.#needed.add(id);
  }

  forget(id: string): void {
    for (const known of [this.#frozen, this.#needed, this.#thawed]) known.delete(id);
  }

  /** Brings a worker to where it is meant to be. One that cannot be stopped is drained instead. */
  async settle(worker: WorkerItem): Promise<void> {
    const isNeeded = this.#needed.delete(worker.id);
    const isMeantToRest = worker.doc.state === "FROZEN" && !isNeeded;
    const rests = this.#frozen.has(worker.id);
    if (isMeantToRest && !rests) await this.#freeze(worker);
    if (!isMeantToRest && rests) await this.#thaw(worker);
  }

  /**
   * Learns from the driver how a worker stands. One that runs against its record when the server starts was thawed by the process
   * before, which could not put that on record any more: it may have a job by now, and is left to idle anew. Returns its record.
   */
  async learn(worker: WorkerItem, state: InstanceState, isRecovery: boolean): Promise<WorkerItem> {
    if (state === "frozen") this.#frozen.add(worker.id);
    else this.#frozen.delete(worker.id);
    if (state === "frozen" && worker.doc.heldMb === undefined) this.#measureLater(worker);
    const wasThawed = isRecovery && state === "running" && worker.doc.state === "FROZEN";
    return (wasThawed && (await this.#recordThaw(worker))) || worker;
  }

  /** It speaks: the first time after a thaw is worth a line. */
  heard(worker: WorkerItem): void {
    const thawed = this.#thawed.get(worker.id);
    if (!thawed) return;
    this.#thawed.delete(worker.id);
    const tookMs = Math.round(this.#parts.clock.monotonic() - thawed.atMs);
    this.#parts.workerLog.say(worker, `thawed after ${Math.round(thawed.frozenMs / 1000)} s in ${tookMs} ms`);
  }

  /** Why it is to be ended, when it was thawed and does not come to itself. */
  overdue(id: string): Reason | undefined {
    const wentOnAtMs = this.#thawed.get(id)?.wentOnAtMs;
    const isOverdue = wentOnAtMs !== undefined && this.#parts.clock.monotonic() - wentOnAtMs >= THAW_LIMIT_MS;
    return isOverdue ? because("thaw-failed", { seconds: THAW_LIMIT_MS / 1000 }) : undefined;
  }

  async #freeze(worker: WorkerItem): Promise<void> {
    const { records, workerLog, changed } = this.#parts;
    try {
      if (await this.#stop(worker)) {
        this.#frozen.add(worker.id);
        workerLog.say(worker, "frozen");
        this.#measureLater(worker);
      } else await this.#recordThaw(worker);
    } catch (error) {
      const idle = worker.doc.reason ?? because("unwanted");
      const reason = reworded(idle, (text) => `${text}, and could not be frozen: ${tellable(error)}`);
      await records.move(worker, "drain", { reason });
    }
    // A job that came meanwhile passed it by.
    changed(worker.doc.owner);
  }

  /** Beside everything else: a job that comes meanwhile must not wait for it. */
  #measureLater(worker: WorkerItem): void {
    // Nothing is lost where that fails: it is measured at its next freeze, or by the next server.
    floating(this.#measure(worker), () => {});
  }

  /** Puts on record what it holds now that it stands still; where nobody can tell, what it was given. */
  async #measure({ id, doc: { owner, memoryMb } }: WorkerItem): Promise<void> {
    const { compute, records, changed } = this.#parts;
    const stats = await compute.stats?.of(id).catch(() => undefined);
    const heldMb = stats?.memoryBytes === undefined ? memoryMb : Math.ceil(stats.memoryBytes / MB);
    for (let now = await records.find(id); now?.doc.state === "FROZEN"; now = await records.find(id))
      if (await records.update(now, { heldMb })) return changed(owner);
  }

  /** False when it is busy again. */
  async #stop(worker: WorkerItem): Promise<boolean> {
    const { compute, desk, rotation } = this.#parts;
    const { freezing } = compute;
    if (!freezing) throw new Error(whyLacking(compute, "freezing"));
    const stop = () => freezing.freeze(worker.id);
    if (!rotation.has(worker.id)) return desk.withheld.freeze(callOf(worker), stop);
    if (!rotation.freeze(worker.id)) return false;
    await stop();
    return true;
  }

  async #thaw(worker: WorkerItem): Promise<void> {
    const { compute, desk, clock, goesOn } = this.#parts;
    const now = clock.now();
    this.#thawed.set(worker.id, { atMs: clock.monotonic(), frozenMs: now - (worker.doc.frozenAt ?? now) });
    desk.withheld.thaw(callOf(worker));
    await compute.freezing?.thaw(worker.id).catch((error: Error) => {
      throw new CannotThaw(because("thaw-failed", {}, saying("thaw-failed", tellable(error))), { cause: error });
    });
    this.#frozen.delete(worker.id);
    // Its time begins here: an engine that has much to do takes seconds to let it go on.
    const thawed = this.#thawed.get(worker.id);
    if (thawed) thawed.wentOnAtMs = clock.monotonic();
    await goesOn(worker);
    await this.#recordThaw(worker);
  }

  #recordThaw(worker: WorkerItem): Promise<WorkerItem | undefined> {
    return this.#parts.records.insist(worker, "thaw", { reason: null });
  }
}
