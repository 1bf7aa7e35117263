/** How the history of an endpoint becomes charts. */
import { expect, it } from "vitest";
import { chartsOf, isBlank, zoomedTo } from "./chart-series.ts";

it("draws the queue of a queue endpoint only", () => {
  expect(chartsOf({}, true).map(({ title }) => title)).toContain("Queue");
  expect(chartsOf({}, false).map(({ title }) => title)).toEqual([
    ...["Requests", "Workers", "Wait for a worker", "Time to answer", "Use of workers"],
  ]);
});

it("knows a chart of which nothing is known", () => {
  const [delay] = chartsOf({ delayP50: [null, null], delayP95: [null, null] }, true).filter(({ title }) =>
    title.startsWith("Delay"),
  );
  expect(isBlank(delay!.lines)).toBe(true);
  const [queue] = chartsOf({ jobsInQueue: [null, 0] }, true);
  expect(isBlank(queue!.lines)).toBe(false);
});

it("zooms to the shortest range around what was chosen, which follows the time at its end", () => {
  const now = 1_000_000;
  expect(zoomedTo(500_000, 501_800, now)).toEqual({ range: "1h", end: new Date(502_700_000).toISOString() });
  expect(zoomedTo(999_000, 1_000_000, now)).toEqual({ range: "1h", end: undefined });
  expect(zoomedTo(400_000, 450_000, now).range).toBe("24h");
});
