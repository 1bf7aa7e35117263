/** The roll of duties: each is known by its name, with how its last run ended and why one failed. */
import { expect, test } from "vitest";
import { every } from "./background.ts";
import { FakeClock } from "./clock.ts";
import { Duties } from "./duties.ts";
import { named } from "./failed.ts";
import { floating } from "./floating.ts";

function setup() {
  const clock = new FakeClock(0);
  const lines: { fields: object; message: string }[] = [];
  const error = (fields: object, message: string) => void lines.push({ fields, message });
  const duties = new Duties({ clock, log: { info() {}, warn() {}, error } });
  return { clock, duties, lines };
}

const SWEEP = { name: "sweep", everyMs: 1000 };

test("a duty is on the roll from its beginning to its end", async () => {
  const { clock, duties } = setup();
  const duty = every(clock, SWEEP, () => {}, duties.failed);
  expect(duties.all()).toEqual([{ ...SWEEP, runs: 0, isRunning: false, failuresInRow: 0 }]);
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
  expect(duties.all()).toMatchObject([{ runs: 0, isRunning: true }]);
  await clock.advance(250);
  end();
  await clock.advance(0);
  expect(duties.all()).toMatchObject([{ runs: 1, isRunning: false, last: { at: 1250, tookMs: 250 } }]);
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
  expect(duties.all()).toEqual([
    { name: "tend", runs: 0, isRunning: false, failuresInRow: 1, lastError: { at: 0, text: "no" } },
  ]);
});

test("of a very long reason the roll keeps the beginning", () => {
  const { duties } = setup();
  duties.failed(new Error("x".repeat(100_000)), "tend");
  expect(duties.all()[0]!.lastError!.text).toHaveLength(1000);
});
