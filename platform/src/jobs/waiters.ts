/** Requests that wait for a job's end. They wait on an event, never by polling, and are removed when the client hangs up. */

import { every } from "../kernel/background.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Gone } from "../kernel/gone.ts";
import { slicesOf } from "../kernel/slices.ts";
import type { Tracing } from "../kernel/tracing.ts";
import { type Patience, Wait } from "../kernel/wait.ts";
import type { Job, Payload } from "../ports/queue/job.ts";
import type { Signals } from "../ports/signals/signals.ts";
import type { JobTally } from "./tally.ts";

export interface Ended {
  job: Job;
  result: Payload | undefined;
  /** The job ended elsewhere and its result was not read. The waiting request reads it once there is memory for it. */
  isUnread?: true;
}

/** Reads a job for those who wait for it. */
export interface JobLook {
  /** Returns undefined while the job has not ended. */
  ended(id: string): Promise<Ended | undefined>;
  /** Returns those that have ended, with one question for all of them. */
  endedAmong(ids: readonly string[]): Promise<Ended[]>;
  /** Returns undefined also while the job is still there. */
  removed(id: string, endpoint: string): Promise<Ended | undefined>;
}

/** One request that waits for a job's end: with it, or with undefined if the time is up, the client is gone or the server closes. */
class JobWait extends Wait<Ended | undefined> {
  readonly id: string;
  readonly endpoint: string;
  readonly #waiters: Waiters;
  stopListening: (() => void) | undefined;

  constructor(waiters: Waiters, id: string, endpoint: string, patience: Omit<Patience<undefined>, "late">) {
    super({ ...patience, late: undefined });
    this.#waiters = waiters;
    this.id = id;
    this.endpoint = endpoint;
  }

  protected override over(): void {
    this.#waiters.forget(this);
  }
}

/** Where signals can be lost, each waiting request checks the queue this often. */
const LOOK_EVERY_MS = 2000;
/** The most jobs in one question to the queue. */
const LOOKED_AT_ONCE = 1000;

export class Waiters implements AsyncDisposable {
  /** Nearly every job has one waiting request or none. */
  readonly #waiting = new Map<string, JobWait[]>();
  /** Endpoints for whose jobs requests wait. One listener for each hears of its removal, since one per request would cost too much. */
  readonly #endpoints = new Map<string, { waits: number; stopListening: () => void }>();
  readonly #signals: Signals;
  readonly #clock: Clock;
  readonly #look: JobLook;
  readonly #failed: Failed;
  readonly #looking: AsyncDisposable | undefined;
  readonly #tally: JobTally | undefined;
  readonly #tracing: Pick<Tracing, "jobEnded"> | undefined;

  constructor(parts: {
    signals: Signals;
    clock: Clock;
    look: JobLook;
    failed: Failed;
    tally?: JobTally | undefined;
    tracing?: Pick<Tracing, "jobEnded"> | undefined;
  }) {
    this.#signals = parts.signals;
    this.#clock = parts.clock;
    this.#look = parts.look;
    this.#failed = parts.failed;
    this.#tally = parts.tally;
    this.#tracing = parts.tracing;
    if (!parts.signals.reliable)
      this.#looking = every(
        parts.clock,
        { name: "look for ended jobs", everyMs: LOOK_EVERY_MS },
        () => this.lookAgain(),
        parts.failed,
      );
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Waits for the job's end, or for the removal of its endpoint. */
  wait(id: string, endpoint: string, waitMs: number, gone: Gone): JobWait {
    const wait = new JobWait(this, id, endpoint, { clock: this.#clock, ms: waitMs, gone });
    const others = this.#waiting.get(id);
    if (others) others.push(wait);
    else this.#waiting.set(id, [wait]);
    this.#hearOf(endpoint).waits++;
    // If every end is made in this process, the engine and the worker desk announce it. With several nodes, signals do.
    if (!this.#signals.reliable)
      wait.stopListening = this.#signals.listen(`ended:${id}`, () => this.#inBackground(this.#lookAt(id)));
    return wait;
  }

  /** Called by each wait when it is over. */
  forget(wait: JobWait): void {
    const { id, endpoint, stopListening } = wait;
    stopListening?.();
    const waits = this.#waiting.get(id);
    const place = waits?.indexOf(wait) ?? -1;
    if (waits && place >= 0) waits.splice(place, 1);
    // The list is empty by now: a map keeps removed entries in memory for longer than one would think (see docs/performance.md).
    if (waits?.length === 0) this.#waiting.delete(id);
    const heard = this.#endpoints.get(endpoint);
    if (!heard || --heard.waits > 0) return;
    this.#endpoints.delete(endpoint);
    heard.stopListening();
  }

  /** Gives the result to all waiters on this node and signals to other nodes that there is one. */
  tell(ended: Ended): void {
    this.#end(ended.job.id, ended);
    this.#signals.emit(`ended:${ended.job.id}`);
    if (ended.job.webhooks) this.#signals.emit("outbox");
    this.#tally?.ended(ended.job);
    if (ended.job.trace !== undefined) this.#tracing?.jobEnded(ended.job);
  }

  /** Counts a job that went back to the queue, and wakes the workers that wait for work. */
  returned(endpoint: string): void {
    this.#tally?.retried(endpoint);
    this.#signals.emit(`work:${endpoint}`);
  }

  async lookAgain(): Promise<void> {
    for (const ids of slicesOf([...this.#waiting.keys()], LOOKED_AT_ONCE))
      for (const ended of await this.#look.endedAmong(ids)) this.#end(ended.job.id, ended);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looking?.[Symbol.asyncDispose]();
    for (const id of [...this.#waiting.keys()]) this.#end(id, undefined);
  }

  async #lookAt(id: string): Promise<void> {
    const ended = await this.#look.ended(id);
    if (ended) this.#end(id, ended);
  }

  #end(id: string, ended: Ended | undefined): void {
    for (const wait of [...(this.#waiting.get(id) ?? [])]) wait.end(ended);
  }

  #hearOf(endpoint: string): { waits: number } {
    let heard = this.#endpoints.get(endpoint);
    if (!heard) {
      const look = () => this.#inBackground(this.#lookForRemoved(endpoint));
      heard = { waits: 0, stopListening: this.#signals.listen(`removed:${endpoint}`, look) };
      this.#endpoints.set(endpoint, heard);
    }
    return heard;
  }

  /** The signal is only a reason to look: every listener gets one when the connection that carries signals was lost. */
  async #lookForRemoved(endpoint: string): Promise<void> {
    const waits = [...this.#waiting.values()].flat().filter((wait) => wait.endpoint === endpoint);
    for (const id of new Set(waits.map(({ id }) => id))) {
      const ended = await this.#look.removed(id, endpoint);
      if (ended) this.tell(ended);
    }
  }

  #inBackground(work: Promise<void>): void {
    floating(work, named(this.#failed, "look for ended jobs"));
  }
}
