/** Limits how many workers a machine starts at once and per second, with accounts taking turns. */
import type { Clock, Timer } from "../kernel/clock.ts";

export interface StartLimits {
  /** How many starts may be under way at once. */
  atOnce: number;
  /** Starts per second, after an initial burst of `saved` starts. */
  perSecond: number;
  saved: number;
}

/**
 * A start takes about 50 ms of CPU time before the program's own, and as long again waiting for the disk. So starts take at most half of the
 * processors, and programs that already run keep the other half.
 */
export const startLimits = (vcpu: number): StartLimits => ({
  atOnce: Math.max(2, 2 * vcpu),
  perSecond: Math.max(5, 10 * vcpu),
  saved: Math.max(8, 10 * vcpu),
});

interface Waiting {
  worker: string;
  enter: (turn: Disposable | undefined) => void;
}

export class StartGate {
  readonly #clock: Clock;
  readonly #limits: () => StartLimits;
  /** Waiting starts by account. The account at the front is next. */
  readonly #waiting = new Map<string, Waiting[]>();
  #inside = 0;
  #saved: number;
  #countedMs: number;
  #timer: Timer | undefined;

  constructor(clock: Clock, limits: () => StartLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#saved = Number.POSITIVE_INFINITY;
    this.#countedMs = clock.monotonic();
  }

  /** Resolves when the worker may be started. Disposing of the result ends its turn. Resolves with undefined if the start was given up. */
  enter(account: string, worker: string): Promise<Disposable | undefined> {
    const { promise, resolve } = Promise.withResolvers<Disposable | undefined>();
    const queue = this.#waiting.get(account);
    if (queue) queue.push({ worker, enter: resolve });
    else this.#waiting.set(account, [{ worker, enter: resolve }]);
    this.#letIn();
    return promise;
  }

  /** Drops the start of this worker if it still waits. */
  giveUp(worker: string): void {
    for (const [account, queue] of this.#waiting) {
      const at = queue.findIndex((one) => one.worker === worker);
      if (at < 0) continue;
      const [found] = queue.splice(at, 1);
      if (queue.length === 0) this.#waiting.delete(account);
      found!.enter(undefined);
    }
  }

  #letIn(): void {
    const { atOnce, perSecond, saved } = this.#limits();
    const nowMs = this.#clock.monotonic();
    this.#saved = Math.min(saved, this.#saved + ((nowMs - this.#countedMs) / 1000) * perSecond);
    this.#countedMs = nowMs;
    while (this.#waiting.size > 0 && this.#inside < atOnce && this.#saved >= 1) this.#letInNext();
    if (this.#waiting.size > 0 && this.#inside < atOnce) this.#lookAgain(((1 - this.#saved) / perSecond) * 1000);
  }

  #letInNext(): void {
    const [account, queue] = this.#waiting.entries().next().value!;
    const { enter } = queue.shift()!;
    // The account goes behind all others.
    this.#waiting.delete(account);
    if (queue.length > 0) this.#waiting.set(account, queue);
    this.#saved--;
    this.#inside++;
    let isOver = false;
    enter({
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        this.#inside--;
        this.#letIn();
      },
    });
  }

  #lookAgain(inMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(Math.ceil(inMs), () => this.#letIn());
  }
}
