/** Background duties: they repeat, never overlap, survive a failure, and end when told to. */
import { expect, test } from "vitest";
import { every } from "./background.ts";
import { FakeClock } from "./clock.ts";

const each = (everyMs: number) => ({ name: "count ticks", everyMs });

function setup() {
  const clock = new FakeClock(0);
  const ticks: number[] = [];
  const failures: unknown[] = [];
  const failed = (error: unknown) => failures.push(error);
  return { clock, ticks, failures, failed, tick: (now: number) => void ticks.push(now) };
}

/** A tick that lasts until the test ends it. */
function slowTick() {
  const ends: (() => void)[] = [];
  return { tick: () => new Promise<void>((resolve) => ends.push(resolve)), ends };
}

test("a duty runs once per interval, first after one interval", async () => {
  const { clock, ticks, tick, failed } = setup();
  await using _duty = every(clock, each(100), tick, failed);
  await clock.advance(99);
  expect(ticks).toEqual([]);
  await clock.advance(201);
  expect(ticks).toEqual([100, 200, 300]);
});

test("the interval counts from the end of a run, so runs never overlap", async () => {
  const { clock, failed } = setup();
  const { tick, ends } = slowTick();
  const duty = every(clock, each(100), tick, failed);
  await clock.advance(500);
  expect(ends).toHaveLength(1);
  ends[0]!();
  await clock.advance(0);
  await clock.advance(99);
  expect(ends).toHaveLength(1);
  await clock.advance(1);
  expect(ends).toHaveLength(2);
  ends[1]!();
  await duty[Symbol.asyncDispose]();
});

test("a run that fails again and again is tried less often, up to a bound, until it succeeds", async () => {
  const { clock, ticks, failures, failed } = setup();
  let broken = true;
  const tick = (now: number) => {
    ticks.push(now);
    if (broken) throw new Error(`at ${now}`);
  };
  await using _duty = every(clock, each(4000), tick, failed);
  await clock.advance(4000 + 4000 + 8000 + 10_000 + 10_000);
  expect(ticks).toEqual([4000, 8000, 16_000, 26_000, 36_000]);
  broken = false;
  await clock.advance(10_000 + 4000);
  expect(ticks.slice(5)).toEqual([46_000, 50_000]);
  expect(failures).toHaveLength(5);
});

test("a duty that comes seldom is not tried more often because it fails", async () => {
  const { clock, ticks, failed } = setup();
  const tick = (now: number) => {
    ticks.push(now);
    throw new Error("no");
  };
  await using _duty = every(clock, each(3_600_000), tick, failed);
  await clock.advance(3 * 3_600_000);
  expect(ticks).toHaveLength(3);
});

test("a failing run is reported, and the next one comes all the same", async () => {
  const { clock, ticks, failures, failed } = setup();
  await using _duty = every(
    clock,
    each(100),
    (now) => {
      ticks.push(now);
      throw new Error(`at ${now}`);
    },
    failed,
  );
  await clock.advance(200);
  expect(ticks).toEqual([100, 200]);
  expect(failures).toEqual([new Error("at 100"), new Error("at 200")]);
});

test("soon runs the duty now, and the interval starts anew", async () => {
  const { clock, ticks, tick, failed } = setup();
  await using duty = every(clock, each(100), tick, failed);
  await clock.advance(60);
  await duty.soon();
  expect(ticks).toEqual([60]);
  expect(clock.waiting).toBe(1);
  await clock.advance(100);
  expect(ticks).toEqual([60, 160]);
});

test("soon during a run waits for it and runs once more, however many ask", async () => {
  const { clock, failed } = setup();
  const { tick, ends } = slowTick();
  const duty = every(clock, each(100), tick, failed);
  await clock.advance(100);
  const asked = Promise.all([duty.soon(), duty.soon(), duty.soon()]);
  await clock.advance(0);
  expect(ends).toHaveLength(1);
  ends[0]!();
  await clock.advance(0);
  expect(ends).toHaveLength(2);
  ends[1]!();
  await asked;
  expect(ends).toHaveLength(2);
  await duty[Symbol.asyncDispose]();
});

test("ending a duty leaves no timer", async () => {
  const { clock, ticks, tick, failed } = setup();
  const duty = every(clock, each(100), tick, failed);
  await duty[Symbol.asyncDispose]();
  expect(clock.waiting).toBe(0);
  await duty.soon();
  await clock.advance(1000);
  expect(ticks).toEqual([]);
});

test("ending a duty waits for the run in progress and drops one that was asked for", async () => {
  const { clock, failed } = setup();
  const { tick, ends } = slowTick();
  const duty = every(clock, each(100), tick, failed);
  await clock.advance(100);
  const asked = duty.soon();
  let ended = false;
  const ending = duty[Symbol.asyncDispose]().then(() => {
    ended = true;
  });
  await clock.advance(0);
  expect(ended).toBe(false);
  ends[0]!();
  await Promise.all([ending, asked]);
  expect(ends).toHaveLength(1);
  expect(clock.waiting).toBe(0);
});
