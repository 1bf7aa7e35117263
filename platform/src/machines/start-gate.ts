/** Lets a machine start only so many workers at a time and in a second, accounts in turn: one that asks for many holds up no other. */
import type { Clock, Timer } from "../kernel/clock.ts";

export interface StartLimits {
  /** Starts that are under way at once. */
  atOnce: number;
  /** Starts in a second, once as many have been made at once as were saved up. */
  perSecond: number;
  saved: number;
}

/** A start costs a processor about a third of a second; programs that run beside it must not notice. */
export const startLimits = (vcpu: number): StartLimits => ({
  atOnce: Math.max(2, vcpu),
  perSecond: Math.max(2, 2 * vcpu),
  saved: Math.max(8, 4 * vcpu),
});

interface Waiting {
  worker: string;
  enter: (turn: Disposable | undefined) => void;
}

export class StartGate {
  readonly #clock: Clock;
  readonly #limits: () => StartLimits;
  /** Who waits, by account; the account whose turn is next comes first. */
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

  /** Resolves when the worker may be started, with its turn, which is over when that is disposed of; with nothing once it was given up. */
  enter(account: string, worker: string): Promise<Disposable | undefined> {
    const { promise, resolve } = Promise.withResolvers<Disposable | undefined>();
    const queue = this.#waiting.get(account);
    if (queue) queue.push({ worker, enter: resolve });
    else this.#waiting.set(account, [{ worker, enter: resolve }]);
    this.#letIn();
    return promise;
  }

  /** Nobody wants this worker any more: its start, if it still waits, never comes. */
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
    // Behind all others.
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
