/** Counts durations in a few fixed buckets, for /metrics. Noting one allocates nothing. */

/** Upper bounds in milliseconds, for work that takes from a moment to minutes. */
export const LONG_BOUNDS_MS = [10, 50, 100, 500, 1000, 5000, 10_000, 30_000, 60_000, 300_000, 1_800_000];
/** For one call of a database. */
export const CALL_BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 5000];
/** For one request. Each route has its own, so these are few. */
export const REQUEST_BOUNDS_MS = [1, 5, 25, 100, 500, 2500, 10_000, 60_000];

export class Durations {
  readonly boundsMs: readonly number[];
  /** How many fell into each bucket. The last one has no upper bound. */
  readonly counts: Float64Array;
  sumMs = 0;

  constructor(boundsMs: readonly number[]) {
    this.boundsMs = boundsMs;
    this.counts = new Float64Array(boundsMs.length + 1);
  }

  note(ms: number): void {
    const { boundsMs } = this;
    // A clock that was set back makes no negative time.
    const tookMs = ms > 0 ? ms : 0;
    let bucket = 0;
    while (bucket < boundsMs.length && tookMs > boundsMs[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sumMs += tookMs;
  }
}
