/** A speed that is kept to: what is spent is made up for by time. */

export interface Speed {
  perSecond: number;
  /** What may be spent at once after a while of little. */
  atOnce: number;
}

export class Allowance {
  readonly #speed: Speed;
  /** When all that was spent is made up for. */
  #evenAtMs = Number.NEGATIVE_INFINITY;

  constructor(speed: Speed) {
    this.#speed = speed;
  }

  /** Milliseconds to wait before more is spent. */
  spend(cost: number, nowMs: number): number {
    const { perSecond, atOnce } = this.#speed;
    this.#evenAtMs = Math.max(this.#evenAtMs, nowMs) + (cost / perSecond) * 1000;
    return Math.max(0, this.#evenAtMs - nowMs - (atOnce / perSecond) * 1000);
  }

  /** Nothing is left to make up for: it is as good as new. */
  isEven(nowMs: number): boolean {
    return this.#evenAtMs <= nowMs;
  }
}
