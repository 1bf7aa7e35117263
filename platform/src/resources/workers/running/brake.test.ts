/** How fast a release that keeps failing is started again. */

import { expect, test } from "vitest";
import { because, type Reason, saying } from "../../../kernel/reason.ts";
import { brakeOf, FAILURES_THAT_COUNT, type Failure } from "./brake.ts";

/** The times of the starts over this many minutes, if every start fails at once. */
function startsOver(minutes: number): number[] {
  const starts: number[] = [];
  let failures: Failure[] = [];
  for (let now = 0; now < minutes * 60_000; now += 100) {
    if ((brakeOf(failures)?.until ?? 0) > now) continue;
    starts.push(now);
    failures = [...failures, { at: now, reason: saying("program-ended", "exit 7") }].slice(-FAILURES_THAT_COUNT);
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
    { at: 5, reason: saying("program-ended", "new") },
    { at: 1, reason: saying("program-ended", "old") },
  ];
  expect(brakeOf(failures)).toEqual({ until: 2005, failures: 2, reason: failures[0]!.reason });
});

test("a full disk brakes nothing for longer than a moment, however often it stood in the way", () => {
  const untilWith = (reason: Reason) => brakeOf(Array.from({ length: 8 }, (_, n) => ({ at: n * 1000, reason })))?.until;
  expect(untilWith(saying("disk-full", "any words"))).toBe(8000);
  expect(untilWith(because("filled-disk", { how: "any words" }))).toBe(8000);
  expect(untilWith(saying("program-ended", "the server's disk is full"))).toBe(7000 + 60_000);
});
