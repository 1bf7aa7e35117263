/** An open point: a sample that comes again counts as often as it came, though nothing is computed for it. */
import { expect, test } from "vitest";
import { layouts } from "./model.ts";
import { OpenPoint, type Sample } from "./point.ts";

const layout = layouts.endpoint;
/** Two jobs wait, three workers are idle, half of a processor is used. */
const busy = (jobs: number): Sample => [jobs, 0, jobs, 0, 3, 0, 0, 0, 50, undefined, undefined, undefined];

function pointOf(samples: readonly Sample[]): OpenPoint {
  const point = new OpenPoint(layout, 7);
  for (const sample of samples) point.sample(sample);
  return point;
}

test("a sample that is the same object as before counts as a copy of it would", () => {
  const [two, five] = [busy(2), busy(5)];
  const repeated = pointOf([two, two, two, five, five, two]);
  const copied = pointOf([two, two, two, five, five, two].map((sample) => [...sample]));
  expect(repeated.row()).toEqual(copied.row());
  expect(repeated.kept()).toEqual(copied.kept());
  expect(repeated.comesTo(copied.row().gauges!)).toBe(true);
});

test("a repeated sample is counted before samples that were missed, and not after a renewal", () => {
  const two = busy(2);
  const point = pointOf([two, two]);
  point.missed(4);
  expect(point.row().gauges?.[0]).toBe(10);
  point.renew(8);
  expect(point.row().gauges).toBeUndefined();
  point.sample(two);
  expect(point.row().gauges?.[0]).toBe(20);
});

test("only a point that got one sample, however often, has an only one", () => {
  const [two, five] = [busy(2), busy(5)];
  expect(pointOf([two, two]).only).toBe(two);
  expect(pointOf([two, five, two]).only).toBeUndefined();
  expect(new OpenPoint(layout, 7).only).toBeUndefined();
  expect(new OpenPoint(layout, 7, pointOf([two]).kept()).only).toBeUndefined();
});
