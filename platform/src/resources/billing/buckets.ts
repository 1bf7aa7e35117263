/** Divides the time that a billing history covers into buckets. */
import { type BucketSize, bucketBefore, bucketStart, nextBucket } from "../../kernel/calendar.ts";
import { parseTimestamp } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import type { Window } from "../../metering/reckoning.ts";

export interface WindowAsked {
  startTime?: string;
  endTime?: string;
  bucketSize?: BucketSize;
  lastN?: number;
}

export interface Buckets extends Window {
  size: BucketSize;
  /** The start of each bucket, followed by the end of the last one. */
  bounds: readonly number[];
}

const DEFAULT_MS = 30 * 24 * 3_600_000;
/** A year has fewer hours than this. */
const MOST_BUCKETS = 10_000;
/** Computers count time from 0, and dates have to end somewhere. */
const EARLIEST = 0;
const LATEST = Date.UTC(9998, 0);

export function bucketsOf({ startTime, endTime, bucketSize: size = "day", lastN }: WindowAsked, now: number): Buckets {
  if (lastN !== undefined) {
    if (startTime !== undefined || endTime !== undefined)
      throw problem("rule-broken", "'lastN' excludes 'startTime' and 'endTime': send one of the two.");
    const current = bucketStart(size, now);
    if (lastN > MOST_BUCKETS) throw tooMany(size);
    const from = Math.max(bucketStart(size, EARLIEST), bucketBefore(size, current, lastN - 1));
    return cut(size, from, nextBucket(size, current));
  }
  const from = momentIn("startTime", startTime) ?? now - DEFAULT_MS;
  const to = momentIn("endTime", endTime) ?? now;
  if (from >= to) {
    const why = startTime === undefined ? " Without 'startTime' it is 30 days ago." : "";
    throw problem("rule-broken", `'startTime' must be before 'endTime'.${why}`);
  }
  const last = bucketStart(size, to);
  return cut(size, bucketStart(size, from), last === to ? to : nextBucket(size, last));
}

function momentIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const moment = parseTimestamp(text);
  if (moment === undefined)
    throw problem("invalid", "Request validation failed.", { errors: [`$.${name}: is no time`] });
  if (moment < EARLIEST || moment > LATEST)
    throw problem("rule-broken", `'${name}' must be within the years 1970 to 9997.`);
  return Math.floor(moment);
}

function cut(size: BucketSize, from: number, to: number): Buckets {
  const bounds = [from];
  for (let next = nextBucket(size, from); next <= to; next = nextBucket(size, next)) {
    if (bounds.length > MOST_BUCKETS) throw tooMany(size);
    bounds.push(next);
  }
  return { size, from, to, bounds };
}

const tooMany = (size: BucketSize) =>
  problem(
    "rule-broken",
    `No answer has more than ${MOST_BUCKETS} buckets, and there are more of one ${size} each in this time: ask for a shorter time, or for larger buckets.`,
  );

/** The index of the bucket that contains a moment. */
export function bucketAt({ bounds }: Buckets, moment: number): number {
  let low = 0;
  for (let high = bounds.length - 1; high - low > 1; ) {
    const middle = (low + high) >> 1;
    if (bounds[middle]! <= moment) low = middle;
    else high = middle;
  }
  return low;
}
