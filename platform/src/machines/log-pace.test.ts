/** The limit on how fast program output is collected. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { LogPace, type Pace } from "./log-pace.ts";

const { signal } = new AbortController();
const MEGABYTE = ["x".repeat(999_800)];

/** Returns how many megabytes of each program get through in this many seconds. */
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
  expect(count).toBeGreaterThanOrEqual(4 + 18);
  expect(count).toBeLessThanOrEqual(4 + 22);
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

test("of short lines some ten thousand a second are taken, since each is work", async () => {
  const clock = new FakeClock();
  const pace = new LogPace(clock).ofOne();
  const short = Array.from({ length: 1000 }, () => "y");
  const over = new AbortController();
  let count = 0;
  const reading = (async () => {
    for (; !over.signal.aborted; count += short.length) await pace(short, over.signal);
  })();
  for (let passed = 0; passed < 10_000; passed += 100) await clock.advance(100);
  over.abort();
  await reading;
  expect(count).toBeGreaterThan(90_000);
  expect(count).toBeLessThan(130_000);
});
