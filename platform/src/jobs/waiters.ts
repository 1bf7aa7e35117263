/** Requests that wait for a job's end. They wait on an event, never by polling, and are removed when the client hangs up. */

import { every } from "../kernel/background.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Gone } from "../kernel/gone.ts";
import { wait } from "../kernel/wait.ts";
import type { Job, Payload } from "../ports/queue/job.ts";
import type { Signals } from "../ports/signals/signals.ts";
import type { JobTally } from "./tally.ts";

export interface Ended {
  job: Job;
  result: Payload | undefined;
  /** The job ended elsewhere and its result was not read. The waiting request reads it once there is memory for it. */
  isUnread?: true;
}

/** One wait for a job's end. */
export interface Wait {
  ended: Promise<Ended | undefined>;
  /** Stops waiting. After the end this has no effect. */
  leave(): void;
}

type Heard = (ended: Ended | undefined) => void;

/** Where signals can be lost, each waiting request checks the queue this often. */
const LOOK_EVERY_MS = 2000;

export class Waiters implements AsyncDisposable {
  readonly #waiting = new Map<string, Set<Heard>>();
  readonly #signals: Signals;
  readonly #clock: Clock;
  readonly #look: (id: string) => Promise<Ended | undefined>;
  readonly #failed: Failed;
  readonly #looking: AsyncDisposable | undefined;
  readonly #tally: JobTally | undefined;

  /** `look` reads a job that ended elsewhere, and returns undefined while it has not ended. */
  constructor(parts: {
    signals: Signals;
    clock: Clock;
    look: (id: string) => Promise<Ended | undefined>;
    failed: Failed;
    tally?: JobTally | undefined;
  }) {
    this.#signals = parts.signals;
    this.#clock = parts.clock;
    this.#look = parts.look;
    this.#failed = parts.failed;
    this.#tally = parts.tally;
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

  /**
   * The wait ends with the job's end, or with undefined if the time is up, the client is gone or the server closes. Then it calls `over`.
   */
  wait(id: string, waitMs: number, gone: Gone, over?: () => void): Wait {
    const ending = () => {
      over?.();
      stopListening();
      this.#remove(id, heard);
    };
    const waited = wait<Ended | undefined>({ clock: this.#clock, ms: waitMs, gone, late: undefined, over: ending });
    const { ended, end: heard, leave } = waited;
    // If every end is made in this process, the engine and the worker desk announce it. With several nodes, signals do.
    const stopListening = this.#signals.reliable
      ? () => undefined
      : this.#signals.listen(`ended:${id}`, () =>
          floating(this.#lookAt(id), named(this.#failed, "look for ended jobs")),
        );
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(heard));
    return { ended, leave };
  }

  /** Gives the result to all waiters on this node and signals to other nodes that there is one. */
  tell(ended: Ended): void {
    for (const heard of [...(this.#waiting.get(ended.job.id) ?? [])]) heard(ended);
    this.#signals.emit(`ended:${ended.job.id}`);
    if (ended.job.webhooks) this.#signals.emit("outbox");
    this.#tally?.ended(ended.job);
  }

  /** Counts a job that went back to the queue, and wakes the workers that wait for work. */
  returned(endpoint: string): void {
    this.#tally?.retried(endpoint);
    this.#signals.emit(`work:${endpoint}`);
  }

  async lookAgain(): Promise<void> {
    await Promise.all([...this.#waiting.keys()].map((id) => this.#lookAt(id)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looking?.[Symbol.asyncDispose]();
    for (const waiting of [...this.#waiting.values()]) for (const heard of [...waiting]) heard(undefined);
  }

  async #lookAt(id: string): Promise<void> {
    const ended = await this.#look(id);
    if (ended) for (const heard of [...(this.#waiting.get(id) ?? [])]) heard(ended);
  }

  #remove(id: string, heard: Heard): void {
    const waiting = this.#waiting.get(id);
    waiting?.delete(heard);
    if (waiting?.size === 0) this.#waiting.delete(id);
  }
}
