/** Keeps spending to an average speed: an allowance says how long to wait before spending more. */

export interface Speed {
  perSecond: number;
  /** This much may be spent at once after a quiet time. */
  atOnce: number;
}

export class Allowance {
  readonly #speed: Speed;
  /** The moment at which the passed time has paid for everything that was spent. */
  #evenAtMs = Number.NEGATIVE_INFINITY;

  constructor(speed: Speed) {
    this.#speed = speed;
  }

  /** Returns the milliseconds to wait before anything more is spent. */
  spend(cost: number, nowMs: number): number {
    const { perSecond, atOnce } = this.#speed;
    this.#evenAtMs = Math.max(this.#evenAtMs, nowMs) + (cost / perSecond) * 1000;
    return Math.max(0, this.#evenAtMs - nowMs - (atOnce / perSecond) * 1000);
  }

  /** True when everything spent is paid for. The allowance is then no different from a new one. */
  isEven(nowMs: number): boolean {
    return this.#evenAtMs <= nowMs;
  }
}
