/** Charts begin with what is known first, within limits. */
import { expect, test } from "vitest";
import { type History, sinceFirst, timesOf } from "./history.ts";

const NOTHING = null;
const history = (...columns: (number | null)[][]): History => ({
  start: "1970-01-01T00:01:00.000Z",
  step: 10,
  series: Object.fromEntries(columns.map((column, index) => [`series${index}`, column])),
});
const unknown = (length: number) => new Array<null>(length).fill(NOTHING);

test("each point has its moment, in seconds since 1970", () => {
  expect(timesOf(history([1, 2, 3]))).toEqual([60, 70, 80]);
  expect(timesOf(history())).toEqual([]);
});

test("the time before anything was known is left out, in all series alike", () => {
  const shown = sinceFirst(history([...unknown(6), 7, NOTHING, 9], [...unknown(4), 0, ...unknown(4)]));
  expect(shown.series).toEqual({ series0: [NOTHING, NOTHING, 7, NOTHING, 9], series1: [0, ...unknown(4)] });
  expect(timesOf(shown)[0]).toBe(100);
});

test("a zero is known, so a quiet hour is shown as one", () => {
  const quiet = history(new Array<number>(12).fill(0));
  expect(sinceFirst(quiet)).toBe(quiet);
});

test("what began a moment ago is shown on a sixth of the range", () => {
  const shown = sinceFirst(history([...unknown(359), 1]));
  expect(timesOf(shown)).toHaveLength(60);
});

test("where nothing is known, the whole range is shown", () => {
  const empty = history(unknown(360));
  expect(sinceFirst(empty)).toBe(empty);
});
