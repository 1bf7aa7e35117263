/** Quantiles from fixed buckets: near enough to the exact ones, and the same however the counts were added up. */
import { expect, test } from "vitest";
import { addSpread, BUCKETS, bucketOf, Histogram, middleOf, quantileOf, type Spread } from "./histogram.ts";
import { SeededRandom } from "./random.ts";

test("a quantile is within 10 % of the exact one, over nine orders of magnitude", () => {
  const random = new SeededRandom(7);
  for (const scale of [10, 1000, 60_000, 86_400_000]) {
    const histogram = new Histogram();
    const exact = Array.from({ length: 2000 }, () => 5 + Math.floor((random.below(1_000_000) / 1_000_000) * scale));
    for (const ms of exact) histogram.add(ms);
    exact.sort((a, b) => a - b);
    for (const share of [0.5, 0.95]) {
      const found = quantileOf(new Map(histogram.filled()), share)!;
      const meant = exact[Math.ceil(exact.length * share) - 1]!;
      expect(Math.abs(found - meant) / meant).toBeLessThan(0.1 + 1 / meant);
    }
  }
});

test("every duration has a bucket, and the middle of a bucket is in it", () => {
  for (const ms of [-5, 0, 0.4, 1, 2, 999, 1e12, Number.NaN]) {
    expect(bucketOf(ms)).toBeGreaterThanOrEqual(0);
    expect(bucketOf(ms)).toBeLessThan(BUCKETS);
  }
  for (let bucket = 20; bucket < BUCKETS; bucket++) expect(bucketOf(middleOf(bucket))).toBe(bucket);
});

test("two spreads add up to what one histogram of all would be, and nothing counted has no quantile", () => {
  const [one, other, both] = [new Histogram(), new Histogram(), new Histogram()];
  for (const ms of [3, 40, 500]) for (const each of [one, both]) each.add(ms);
  for (const ms of [40, 9000]) for (const each of [other, both]) each.add(ms);
  const sum: Spread = new Map(one.filled());
  addSpread(sum, other.filled());
  expect(new Map([...sum].sort(([a], [b]) => a - b))).toEqual(new Map(both.filled()));
  expect(quantileOf(new Map(), 0.5)).toBeUndefined();
});
