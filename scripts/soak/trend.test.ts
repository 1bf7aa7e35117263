/** The verdict of a soak: which measures are flat, and which grow. */
import { expect, test } from "vitest";
import { trendOf } from "./trend.ts";

const minutes = (count: number, value: (minute: number) => number) =>
  Array.from({ length: count }, (_, minute) => ({ hours: minute / 60, value: value(minute) }));

/** Goes up and down by one, minute by minute. */
const noise = (minute: number) => (minute % 2 === 0 ? 1 : -1);

test("what stays the same is flat, also with noise", () => {
  expect(
    trendOf(
      minutes(60, () => 100),
      1,
    ),
  ).toEqual({ perHour: 0, from: 100, to: 100, grows: false });
  expect(
    trendOf(
      minutes(60, (minute) => 100 + 5 * noise(minute)),
      1,
    ),
  ).toMatchObject({ grows: false });
});

test("what grows is seen through noise, with its pace", () => {
  const trend = trendOf(
    minutes(90, (minute) => 100 + minute / 6 + 3 * noise(minute)),
    1,
  )!;
  expect(trend.grows).toBe(true);
  expect(trend.perHour).toBeCloseTo(10, 0);
  expect(trend.from).toBeCloseTo(100, 0);
});

test("growth below the tolerance is flat, and so is what shrinks", () => {
  expect(
    trendOf(
      minutes(60, (minute) => 100 + minute / 60),
      2,
    ),
  ).toMatchObject({ grows: false });
  expect(
    trendOf(
      minutes(60, (minute) => 100 - minute),
      2,
    ),
  ).toMatchObject({ grows: false });
});

test("two measurements make no trend", () => {
  expect(
    trendOf(
      minutes(2, () => 1),
      1,
    ),
  ).toBeUndefined();
});
