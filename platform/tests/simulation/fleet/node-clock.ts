/** The clocks of nodes and machines: each is ahead or behind in its own way, and can be set while it runs. */
import type { Clock, Timer } from "../../../src/kernel/clock.ts";
import type { Life } from "../life.ts";
import type { Timeline } from "../timeline.ts";

/** The time of day of one machine. The node's process on it reads the same clock. */
export class Watch {
  readonly #timeline: Timeline;
  /** How far it is ahead of the true time. */
  aheadMs: number;

  constructor(timeline: Timeline, aheadMs: number) {
    this.#timeline = timeline;
    this.aheadMs = aheadMs;
  }

  now(): number {
    return this.#timeline.wall + this.aheadMs;
  }
}

/** The clock that a machine's programs live by. They go on while the node's process is frozen or dead. */
export class MachineClock implements Clock {
  readonly #timeline: Timeline;
  readonly #watch: Watch;

  constructor(timeline: Timeline, watch: Watch) {
    this.#timeline = timeline;
    this.#watch = watch;
  }

  now(): number {
    return this.#watch.now();
  }

  monotonic(): number {
    return this.#timeline.elapsed;
  }

  after(delayMs: number, action: () => void): Timer {
    return this.#timeline.after(delayMs, action);
  }
}

/** The clock of one process. Its timers wait while the process is frozen. */
export class NodeClock implements Clock {
  readonly #life: Life;
  readonly #watch: Watch;

  constructor(life: Life, watch: Watch) {
    this.#life = life;
    this.#watch = watch;
  }

  now(): number {
    return this.#watch.now();
  }

  monotonic(): number {
    return this.#life.timeline.elapsed;
  }

  after(delayMs: number, action: () => void): Timer {
    let isCancelled = false;
    const act = () => {
      if (!isCancelled) action();
    };
    const timer = this.#life.timeline.after(delayMs, () => this.#life.reach(act));
    return {
      cancel() {
        isCancelled = true;
        timer.cancel();
      },
    };
  }
}
