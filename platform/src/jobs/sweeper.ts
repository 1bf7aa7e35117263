/** The sweeper repairs what a crash left and removes what has expired. One tick does everything that is due, and is safe to repeat. */

import { every } from "../kernel/background.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Failed } from "../kernel/failed.ts";
import type { Queue } from "../ports/queue/queue.ts";
import type { Engine } from "./engine.ts";

const TICK_MS = 1000;
/** Work is done in slices, so that a million expired results never block other requests. */
const DUE_AT_ONCE = 500;
const DUE_SLICES = 40;
/** Every write waits for a slice of removals, and each removed job takes 50 us. A larger slice was visible in the p99 latency. */
const EXPIRED_AT_ONCE = 100;
const EXPIRED_SLICES = 200;

export class Sweeper implements AsyncDisposable {
  readonly #queue: Queue;
  readonly #engine: Engine;
  readonly #ticking: AsyncDisposable;

  constructor(parts: {
    queue: Queue;
    engine: Engine;
    clock: Clock;
    failed: Failed;
    mine?: (now: number) => Promise<boolean>;
  }) {
    this.#queue = parts.queue;
    this.#engine = parts.engine;
    const { mine = async () => true } = parts;
    this.#ticking = every(
      parts.clock,
      { name: "settle due jobs", everyMs: TICK_MS },
      async (now) => void ((await mine(now)) && (await this.tick(now))),
      parts.failed,
    );
  }

  async tick(now: number): Promise<void> {
    for (let slice = 0; slice < DUE_SLICES; slice++) {
      const due = await this.#queue.due(now, DUE_AT_ONCE);
      await this.#engine.settleDue(due);
      if (due.length < DUE_AT_ONCE) break;
    }
    for (let slice = 0; slice < EXPIRED_SLICES; slice++) {
      if ((await this.#queue.expire(now, EXPIRED_AT_ONCE)) < EXPIRED_AT_ONCE) break;
    }
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#ticking[Symbol.asyncDispose]();
  }
}
