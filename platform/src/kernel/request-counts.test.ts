/** What is counted of requests is bounded, whatever callers send. */
import { expect, test } from "vitest";
import { CallTimes } from "./call-times.ts";
import { FakeClock } from "./clock.ts";
import { CALL_BOUNDS_MS, Durations } from "./durations.ts";
import { problem } from "./problem.ts";
import { RequestCounts } from "./request-counts.ts";

test("methods and statuses that HTTP does not name share one series each", () => {
  const requests = new RequestCounts();
  const route = requests.of("/v2/pods/{id}");
  for (let n = 0; n < 1000; n++) route.note(`METHOD-${n}`, n, 1);
  for (const status of [600, 999, 1e9]) route.note("GET", status, 1);
  const all = requests.all();
  expect(all.map(({ method }) => method)).toEqual(["other", "GET"]);
  expect(all[0]!.statuses.length).toBeLessThan(70);
  expect(all[0]!.statuses.reduce((sum, [, count]) => sum + count, 0)).toBe(1000);
  expect(all[1]!.statuses).toEqual([["other", 3]]);
});

test("a request whose client left before the answer has the status none", () => {
  const requests = new RequestCounts();
  requests.of("/v2/pods").note("GET", 0, 5);
  requests.of("/v2/pods").note("GET", 200, 5);
  expect(requests.all()[0]!.statuses).toEqual([
    ["none", 1],
    ["200", 1],
  ]);
});

test("a duration falls into the first bucket that it does not exceed, and none is negative", () => {
  const durations = new Durations([1, 10]);
  for (const ms of [-5, 1, 1.5, 10, 11]) durations.note(ms);
  expect([[...durations.counts], durations.sumMs]).toEqual([[2, 2, 1], 23.5]);
});

test("of calls under way together one is measured, and refusals by a rule are no failures", async () => {
  const clock = new FakeClock();
  const times = new CallTimes(clock);
  const answers = Array.from({ length: 4 }, () => Promise.withResolvers<number>());
  let called = 0;
  const port = { commit: async (_writes: readonly string[]) => await answers[called++]!.promise };
  times.watch(port, ["commit"]);
  const together = [port.commit([]), port.commit([])];
  await clock.advance(30);
  answers[0]!.resolve(1);
  answers[1]!.resolve(2);
  expect(await Promise.all(together)).toEqual([1, 2]);
  const [{ durations, failures }] = times.all as [CallTimes["all"][number]];
  expect([durations.sumMs, failures]).toEqual([30, 0]);
  answers[2]!.reject(problem("conflicting", "the name is taken"));
  await expect(port.commit([])).rejects.toThrow("taken");
  answers[3]!.reject(problem("unavailable", "the database is away"));
  await expect(port.commit([])).rejects.toThrow("away");
  expect(times.all[0]!.failures).toBe(1);
  expect(durations.counts.length).toBe(CALL_BOUNDS_MS.length + 1);
});
