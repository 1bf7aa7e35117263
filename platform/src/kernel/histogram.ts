/** A histogram of durations with fixed buckets: it takes a few hundred bytes, and two histograms can be added. */

/** Each bucket ends 20 % above the one before, so that a quantile is within 10 % of the exact value. */
const GROWTH = 1.2;
const PER_LOG = 1 / Math.log(GROWTH);
/** The last bucket begins at about 8 days and holds everything above. */
export const BUCKETS = 112;

/** The bucket of a duration: 0 for less than 1 ms, then one for each step of 20 %. */
export function bucketOf(ms: number): number {
  if (!(ms >= 1)) return 0;
  return Math.min(BUCKETS - 1, 1 + Math.floor(Math.log(ms) * PER_LOG));
}

/** The duration that stands for a bucket: its geometric middle, in whole milliseconds. */
export function middleOf(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(GROWTH ** (bucket - 0.5));
}

/** Counts by bucket. */
export type Spread = Map<number, number>;

/** Returns the duration that this share of all counted durations does not exceed, or undefined if none is counted. */
export function quantileOf(spread: Spread, share: number): number | undefined {
  const buckets = [...spread].sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  let left = Math.max(1, Math.ceil(total * share));
  for (const [bucket, count] of buckets) {
    left -= count;
    if (left <= 0) return middleOf(bucket);
  }
  return undefined;
}

export function addSpread(to: Spread, from: Iterable<readonly [bucket: number, count: number]>): void {
  for (const [bucket, count] of from) to.set(bucket, (to.get(bucket) ?? 0) + count);
}

/** A histogram for hot paths: `add` allocates nothing. */
export class Histogram {
  readonly #counts = new Uint32Array(BUCKETS);

  add(ms: number): void {
    this.#counts[bucketOf(ms)]!++;
  }

  /** The buckets that hold something. */
  *filled(): Generator<readonly [bucket: number, count: number]> {
    for (const [bucket, count] of this.#counts.entries()) if (count > 0) yield [bucket, count];
  }
}
