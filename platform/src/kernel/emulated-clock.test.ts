/** The emulator's clock: it goes on by itself, and moves ahead on request with everything that falls due. */
import { expect, test } from "vitest";
import { realClock } from "./clock.ts";
import { EmulatedClock } from "./emulated-clock.ts";

const HOUR = 3_600_000;

test("it shows real time until it is moved, and goes on from there", async () => {
  const clock = new EmulatedClock();
  expect(clock.now() - realClock.now()).toBeCloseTo(0, -2);
  const before = clock.monotonic();
  await clock.advance(5 * HOUR);
  expect(clock.now() - realClock.now()).toBeCloseTo(5 * HOUR, -2);
  expect(clock.monotonic() - before).toBeGreaterThanOrEqual(5 * HOUR);
});

test("timers run when real time reaches them, and at once when time is moved past them", async () => {
  const clock = new EmulatedClock(0);
  const soon = Promise.withResolvers<void>();
  clock.after(5, soon.resolve);
  await soon.promise;
  let later = 0;
  clock.after(HOUR, () => later++);
  await clock.advance(HOUR - 10_000);
  expect(later).toBe(0);
  await clock.advance(20_000);
  expect(later).toBe(1);
});

test("due timers run in the order of their times, and a cancelled one does not", async () => {
  const clock = new EmulatedClock(0);
  const ran: string[] = [];
  clock.after(900, () => ran.push("second"));
  clock.after(800, () => {
    ran.push("first");
    cancelled.cancel();
  });
  const cancelled = clock.after(950, () => ran.push("cancelled"));
  await clock.advance(1000);
  expect(ran).toEqual(["first", "second"]);
});

test("a duty of every second runs some hundred times in a month, each second at first, and never sees time go back", async () => {
  const clock = new EmulatedClock(0);
  const times: number[] = [];
  const tick = () => {
    times.push(clock.now());
    clock.after(1000, tick);
  };
  clock.after(1000, tick);
  await clock.advance(30 * 24 * HOUR);
  expect(times.length).toBeLessThan(400);
  expect(times.filter((at) => at < 21_000).length).toBeGreaterThan(15);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

test("what listens for leaps is done before the timers of each", async () => {
  const clock = new EmulatedClock(0);
  const ran: string[] = [];
  clock.beforeTimers(async () => void ran.push("heard"));
  clock.after(500, () => ran.push("timer"));
  await clock.advance(1000);
  expect(ran).toEqual(["heard", "timer"]);
});
