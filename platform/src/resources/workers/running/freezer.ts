/** Freezes idle workers of one machine and thaws them when they are needed, as their records say. */

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
  /** Called when a worker's program continues after a thaw. */
  goesOn: (worker: WorkerItem) => Promise<void>;
}

/** The program is frozen and cannot be thawed. */
export class CannotThaw extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, options: ErrorOptions) {
    super(reason.text, options);
    this.reason = reason;
  }
}

/** A worker that neither asks for work nor passes a health check this long after its thaw never will. */
const THAW_LIMIT_MS = 10_000;
const MB = 2 ** 20;

export class Freezer {
  readonly #parts: FreezerParts;
  /** Workers whose programs are frozen. */
  readonly #frozen = new Set<string>();
  /** Frozen workers that a job waits for, before their thaw is recorded. */
  readonly #needed = new Set<string>();
  /**
   * Workers that were told to thaw and have not been heard of since: when that was, when the program continued, and how long it was frozen.
   */
  readonly #thawed = new Map<string, { atMs: number; wentOnAtMs?: number; frozenMs: number }>();

  constructor(parts: FreezerParts) {
    this.#parts = parts;
  }

  /** Whether the worker's program is frozen exactly if its record says so. */
  isSettled({ id, doc }: WorkerItem): boolean {
    return this.#frozen.has(id) === (doc.state === "FROZEN");
  }

  /** Whether the worker was told to thaw and has not been heard of since. */
  isThawing(id: string): boolean {
    return this.#thawed.has(id);
  }

  /** Makes the next `settle` thaw the worker, whatever its record says. */
  need(id: string): void {
    this.#needed.add(id);
  }

  forget(id: string): void {
    for (const known of [this.#frozen, this.#needed, this.#thawed]) known.delete(id);
  }

  /** Freezes or thaws a worker as needed. A worker that cannot be frozen is drained instead. */
  async settle(worker: WorkerItem): Promise<void> {
    const isNeeded = this.#needed.delete(worker.id);
    const isMeantToRest = worker.doc.state === "FROZEN" && !isNeeded;
    const rests = this.#frozen.has(worker.id);
    if (isMeantToRest && !rests) await this.#freeze(worker);
    if (!isMeantToRest && rests) await this.#thaw(worker);
  }

  /**
   * Learns from the driver whether a worker is frozen. If it runs at the server's start although its record says frozen, the previous
   * process thawed it without recording that. It may have a job by now, so it is recorded as thawed. Returns the record.
   */
  async learn(worker: WorkerItem, state: InstanceState, isRecovery: boolean): Promise<WorkerItem> {
    if (state === "frozen") this.#frozen.add(worker.id);
    else this.#frozen.delete(worker.id);
    if (state === "frozen" && worker.doc.heldMb === undefined) this.#measureLater(worker);
    const wasThawed = isRecovery && state === "running" && worker.doc.state === "FROZEN";
    return (wasThawed && (await this.#recordThaw(worker))) || worker;
  }

  /** Writes a log line when a worker is first heard of after a thaw. */
  heard(worker: WorkerItem): void {
    const thawed = this.#thawed.get(worker.id);
    if (!thawed) return;
    this.#thawed.delete(worker.id);
    const tookMs = Math.round(this.#parts.clock.monotonic() - thawed.atMs);
    this.#parts.workerLog.say(worker, `thawed after ${Math.round(thawed.frozenMs / 1000)} s in ${tookMs} ms`);
  }

  /** Why a worker that was thawed has to end, if it is not heard of in time. */
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
    // A job that came during the freeze could not go to this worker, so the plan has to look again.
    changed(worker.doc.owner);
  }

  /** Runs in the background, so that a job that comes meanwhile does not wait for it. */
  #measureLater(worker: WorkerItem): void {
    // A failure loses nothing: the next freeze or the next server measures again.
    floating(this.#measure(worker), () => {});
  }

  /** Records the memory that the frozen worker holds, or the memory it was given if that cannot be measured. */
  async #measure({ id, doc: { owner, memoryMb } }: WorkerItem): Promise<void> {
    const { compute, records, changed } = this.#parts;
    const stats = await compute.stats?.of(id).catch(() => undefined);
    const heldMb = stats?.memoryBytes === undefined ? memoryMb : Math.ceil(stats.memoryBytes / MB);
    for (let now = await records.find(id); now?.doc.state === "FROZEN"; now = await records.find(id))
      if (await records.update(now, { heldMb })) return changed(owner);
  }

  /** Returns false if the worker is busy again. */
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
    // The time limit starts here, because a busy container engine may take seconds to thaw a program.
    const thawed = this.#thawed.get(worker.id);
    if (thawed) thawed.wentOnAtMs = clock.monotonic();
    await goesOn(worker);
    await this.#recordThaw(worker);
  }

  #recordThaw(worker: WorkerItem): Promise<WorkerItem | undefined> {
    return this.#parts.records.insist(worker, "thaw", { reason: null });
  }
}
