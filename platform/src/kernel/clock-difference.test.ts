/** The difference of two clocks is measured across a network that delays both ways. */
import { expect, test } from "vitest";
import { FakeClock } from "./clock.ts";
import { areApart, areTogether, clockDifference, differenceText } from "./clock-difference.ts";

/** A clock at a distance. Each answer takes these milliseconds there and back. */
function distant(clock: FakeClock, aheadMs: number, ways: [number, number][]) {
  return async () => {
    const [there, back] = ways.shift()!;
    await clock.advance(there);
    const theirs = clock.now() - aheadMs;
    await clock.advance(back);
    return theirs;
  };
}

test("half of the round trip is taken off, so an answer that comes late makes no difference", async () => {
  const clock = new FakeClock();
  const ask = distant(clock, 2500, [...Array.from({ length: 3 }, (): [number, number] => [40, 40])]);
  expect(await clockDifference(clock, ask)).toEqual({ aheadMs: 2500, errorMs: 40 });
});

test("of three answers the soonest counts, and the true difference is within its error", async () => {
  const clock = new FakeClock();
  const ways: [number, number][] = [
    [900, 0],
    [6, 2],
    [0, 700],
  ];
  const { aheadMs, errorMs } = await clockDifference(clock, distant(clock, -300, ways));
  expect([aheadMs, errorMs, ways]).toEqual([-302, 4, []]);
});

test("clocks are apart only when a late answer cannot be the cause, and well again only when they clearly agree", () => {
  const states = (aheadMs: number, errorMs = 0) => [areApart({ aheadMs, errorMs }), areTogether({ aheadMs, errorMs })];
  expect([states(1001), states(-1001)]).toEqual([
    [true, false],
    [true, false],
  ]);
  expect([states(1001, 2), states(900), states(-600)]).toEqual(Array(3).fill([false, false]));
  expect([states(400), states(-499), states(400, 200)]).toEqual([
    [false, true],
    [false, true],
    [false, false],
  ]);
});

test("a difference is named with its direction", () => {
  const texts = [2540, -120_000, 12.4, 0].map((aheadMs) => differenceText({ aheadMs }));
  expect(texts).toEqual(["2.5 s ahead of", "120.0 s behind", "12 ms ahead of", "0 ms ahead of"]);
});
