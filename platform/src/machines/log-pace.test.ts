/** How fast what programs write is taken up. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { LogPace, type Pace } from "./log-pace.ts";

const { signal } = new AbortController();
const MEGABYTE = ["x".repeat(999_936)];

/** Megabytes that get through in so many seconds, of each. */
async function taken(clock: FakeClock, paces: Pace[], seconds: number): Promise<number[]> {
  const counts = paces.map(() => 0);
  const over = new AbortController();
  paces.forEach(async (pace, index) => {
    while (!over.signal.aborted) {
      counts[index]!++;
      await pace(MEGABYTE, signal);
    }
  });
  for (let passed = 0; passed < seconds * 1000; passed += 100) {
    await clock.advance(100);
  }
  over.abort();
  return counts;
}

test("what comes at once is taken at once, and what comes without end at a measured pace", async () => {
  const clock = new FakeClock();
  const [count] = await taken(clock, [new LogPace(clock).ofOne()], 10);
  expect(count).toBeGreaterThanOrEqual(8 + 18);
  expect(count).toBeLessThanOrEqual(8 + 22);
});

test("many who write without end share what one machine takes, and each gets some", async () => {
  const clock = new FakeClock();
  const pace = new LogPace(clock);
  const counts = await taken(
    clock,
    Array.from({ length: 20 }, () => pace.ofOne()),
    10,
  );
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThan(32 + 80 + 2 * 20);
  expect(Math.min(...counts)).toBeGreaterThan(2);
});

test("short lines count for more than their text, since each is work", async () => {
  const clock = new FakeClock();
  const pace = new LogPace(clock).ofOne();
  const short = Array.from({ length: 100_000 }, () => "y");
  await pace(short, signal);
  let isOver = false;
  void pace(short, signal).then(() => {
    isOver = true;
  });
  await clock.advance(0);
  expect(isOver).toBe(false);
  await clock.advance(2500);
  expect(isOver).toBe(true);
});
