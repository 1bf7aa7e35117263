/** The calendar in UTC: hours, days, weeks that begin on Monday, months and years. A bucket ends where the next one begins. */

export const bucketSizes = ["hour", "day", "week", "month", "year"] as const;
export type BucketSize = (typeof bucketSizes)[number];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
/** The first Monday after the Unix epoch, which was a Thursday. */
const MONDAY_MS = 4 * DAY_MS;

/** Returns the first moment of the hour, day, week, month or year that contains `moment`. */
export function bucketStart(size: BucketSize, moment: number): number {
  if (size === "month" || size === "year") {
    const at = new Date(moment);
    return Date.UTC(at.getUTCFullYear(), size === "year" ? 0 : at.getUTCMonth());
  }
  if (size === "week") return floorTo(WEEK_MS, moment - MONDAY_MS) + MONDAY_MS;
  return floorTo(size === "day" ? DAY_MS : HOUR_MS, moment);
}

/** Returns the first moment of the bucket that follows the one beginning at `start`. */
export function nextBucket(size: BucketSize, start: number): number {
  const at = new Date(start);
  if (size === "month") return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1);
  if (size === "year") return Date.UTC(at.getUTCFullYear() + 1, 0);
  return start + { hour: HOUR_MS, day: DAY_MS, week: WEEK_MS }[size];
}

/** Returns the first moment of the bucket that is `count` buckets before the one beginning at `start`. */
export function bucketBefore(size: BucketSize, start: number, count: number): number {
  const at = new Date(start);
  if (size === "month") return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - count);
  if (size === "year") return Date.UTC(at.getUTCFullYear() - count, 0);
  return start - count * { hour: HOUR_MS, day: DAY_MS, week: WEEK_MS }[size];
}

/** Returns the month as text, such as `2026-03`. */
export const monthOf = (moment: number): string => new Date(moment).toISOString().slice(0, 7);

/** Returns the first moments of all months that begin after `from` and before `to`. */
export function monthsEntered(from: number, to: number): number[] {
  const months: number[] = [];
  for (let next = nextBucket("month", bucketStart("month", from)); next < to; next = nextBucket("month", next))
    months.push(next);
  return months;
}

const floorTo = (unit: number, moment: number) => Math.floor(moment / unit) * unit;
