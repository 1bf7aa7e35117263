/** The roll of duties: each is known by its name, with how its last run ended, why one failed and whether one hangs. */
import { expect, test } from "vitest";
import { every } from "./background.ts";
import { FakeClock } from "./clock.ts";
import { Duties } from "./duties.ts";
import { named } from "./failed.ts";
import { floating } from "./floating.ts";

function setup() {
  const clock = new FakeClock(0);
  const lines: { fields: object; message: string }[] = [];
  const write = (fields: object, message: string) => void lines.push({ fields, message });
  const duties = new Duties({ clock, log: { info: write, warn: write, error: write } });
  return { clock, duties, lines };
}

const SWEEP = { name: "sweep", everyMs: 1000 };

test("a duty is on the roll from its beginning to its end", async () => {
  const { clock, duties } = setup();
  const duty = every(clock, SWEEP, () => {}, duties.failed);
  expect(duties.all()).toEqual([{ ...SWEEP, longestMs: 65_000, runs: 0, failuresInRow: 0 }]);
  await clock.advance(2000);
  expect(duties.all()).toMatchObject([{ runs: 2, last: { at: 2000, tookMs: 0, isGood: true } }]);
  await duty[Symbol.asyncDispose]();
  expect(duties.all()).toEqual([]);
});

test("one that runs right now says so", async () => {
  const { clock, duties } = setup();
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const tick = () => promise;
  await using _duty = every(clock, SWEEP, tick, duties.failed);
  await clock.advance(1000);
  await clock.advance(250);
  expect(duties.all()).toMatchObject([{ runs: 0, running: { since: 1000, forMs: 250, isOverdue: false } }]);
  end();
  await clock.advance(0);
  const [after] = duties.all();
  expect(after).toMatchObject({ runs: 1, last: { at: 1250, tookMs: 250 } });
  expect(after!.running).toBeUndefined();
});

test.each([
  ["well", undefined],
  ["with a failure", new Error("no answer")],
])("one that hangs is reported once, and again when it ends %s", async (_, failure) => {
  const { clock, duties, lines } = setup();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let runs = 0;
  const tick = () => (runs++ === 0 ? promise : undefined);
  await using _duty = every(clock, SWEEP, tick, duties.failed);
  await clock.advance(1000 + 64_999);
  expect(lines).toEqual([]);
  await clock.advance(1);
  const late = { fields: { duty: "sweep" }, message: 'the duty "sweep" has not ended for 65 s' };
  expect(lines).toEqual([late]);
  await clock.advance(600_000);
  expect(lines).toEqual([late]);
  expect(duties.all()).toMatchObject([{ running: { since: 1000, forMs: 665_000, isOverdue: true } }]);
  if (failure) reject(failure);
  else resolve();
  await clock.advance(0);
  expect(lines.map(({ message }) => message)).toEqual([
    late.message,
    'the duty "sweep" has ended after 665 s',
    ...(failure ? ['the duty "sweep" failed'] : []),
  ]);
  await clock.advance(200_000);
  expect(lines).toHaveLength(failure ? 3 : 2);
});

test("a clock that leaps over a run does not make it one that hangs", async () => {
  const [clock, watch] = [new FakeClock(0), new FakeClock(0)];
  const lines: string[] = [];
  const write = (_: object, message: string) => void lines.push(message);
  const duties = new Duties({ clock, watch, log: { info: write, warn: write, error: write } });
  const { promise, resolve: end } = Promise.withResolvers<void>();
  await using _duty = every(clock, SWEEP, () => promise, duties.failed);
  await clock.advance(12 * 3_600_000);
  await watch.advance(2);
  expect(duties.all()).toMatchObject([{ running: { since: 1000, forMs: 2, isOverdue: false } }]);
  end();
  await clock.advance(0);
  expect([duties.all()[0]!.last, lines]).toEqual([{ at: 12 * 3_600_000, tookMs: 2, isGood: true }, []]);
});

test("a duty may say itself how long a run takes at most", async () => {
  const { clock, duties, lines } = setup();
  const { promise, resolve: end } = Promise.withResolvers<void>();
  await using _duty = every(clock, { ...SWEEP, longestMs: 3_600_000 }, () => promise, duties.failed);
  await clock.advance(3_600_000);
  expect(lines).toEqual([]);
  await clock.advance(1000);
  expect(lines).toMatchObject([{ message: 'the duty "sweep" has not ended for 3600 s' }]);
  end();
});

test("a failure is in the log by the duty's name, and its reason stays after the next good run", async () => {
  const { clock, duties, lines } = setup();
  const why = new Error("the store is away");
  let isAway = true;
  const tick = () => {
    if (isAway) throw why;
  };
  await using _duty = every(clock, SWEEP, tick, duties.failed);
  await clock.advance(2000);
  expect(lines).toEqual(
    [1, 2].map(() => ({ fields: { err: why, duty: "sweep" }, message: 'the duty "sweep" failed' })),
  );
  const lastError = { at: 2000, text: "the store is away" };
  expect(duties.all()).toMatchObject([{ runs: 2, failuresInRow: 2, last: { isGood: false }, lastError }]);
  isAway = false;
  await clock.advance(10_000);
  expect(duties.all()).toMatchObject([{ failuresInRow: 0, last: { isGood: true }, lastError }]);
});

test("two duties of one name are told apart", async () => {
  const { clock, duties } = setup();
  await using _one = every(clock, SWEEP, () => {}, duties.failed);
  await using _two = every(clock, SWEEP, () => {}, duties.failed);
  expect(duties.all().map(({ name }) => name)).toEqual(["sweep", "sweep 2"]);
});

test("work that follows an event is on the roll once it failed", async () => {
  const { clock, duties } = setup();
  floating(Promise.resolve(), named(duties.failed, "tend"));
  floating(Promise.reject(new Error("no")), named(duties.failed, "tend"));
  await clock.advance(0);
  expect(duties.all()).toEqual([{ name: "tend", runs: 0, failuresInRow: 1, lastError: { at: 0, text: "no" } }]);
});

test("of a very long reason the roll keeps the beginning", () => {
  const { duties } = setup();
  duties.failed(new Error("x".repeat(100_000)), "tend");
  expect(duties.all()[0]!.lastError!.text).toHaveLength(1000);
});
