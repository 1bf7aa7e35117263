/** How fast a release that keeps failing is started again. */
import { expect, test } from "vitest";
import { brakeOf, FAILURES_THAT_COUNT, type Failure } from "./brake.ts";

/** Failures as they come when every start fails at once, for so many minutes. */
function startsOver(minutes: number): number[] {
  const starts: number[] = [];
  let failures: Failure[] = [];
  for (let now = 0; now < minutes * 60_000; now += 100) {
    if ((brakeOf(failures)?.until ?? 0) > now) continue;
    starts.push(now);
    failures = [...failures, { at: now, reason: "exit 7" }].slice(-FAILURES_THAT_COUNT);
  }
  return starts;
}

test("without a failure there is no brake", () => {
  expect(brakeOf([])).toBeUndefined();
});

test("the first failure is followed by another start after a second, and each further one after twice the time", () => {
  expect(startsOver(2)).toEqual([0, 1000, 3000, 7000, 15_000, 31_000, 63_000]);
});

test("a loop that never ends costs one start a minute", () => {
  expect(startsOver(60).length).toBeLessThanOrEqual(7 + 60);
  const late = startsOver(60).slice(-3);
  expect([late[1]! - late[0]!, late[2]! - late[1]!]).toEqual([60_000, 60_000]);
});

test("the newest failure gives the reason", () => {
  const failures = [
    { at: 5, reason: "new" },
    { at: 1, reason: "old" },
  ];
  expect(brakeOf(failures)).toEqual({ until: 2005, failures: 2, reason: "new" });
});

test("a full disk brakes nothing for longer than a moment, however often it stood in the way", () => {
  const reason = "could not be started: the server's disk is full";
  const failures = Array.from({ length: 8 }, (_, n) => ({ at: n * 1000, reason }));
  expect(brakeOf(failures)?.until).toBe(8000);
});
