/** Which bodies count as stalled, whoever came and left meanwhile. */
import { expect, test } from "vitest";
import { FakeClock, turn } from "../../kernel/clock.ts";
import { type Arriving, StallWatch } from "./stall-watch.ts";

const LONGEST_MS = 1000;

function setup() {
  const clock = new FakeClock();
  const watch = new StallWatch(clock, LONGEST_MS);
  const stalled: string[] = [];
  const body = (name: string): Arriving => ({ heardAt: clock.monotonic(), stalled: () => void stalled.push(name) });
  return { clock, watch, stalled, body };
}

test("those that are still there, and each once", async () => {
  const { clock, watch, stalled, body } = setup();
  const bodies = ["a", "b", "c", "d", "e"].map(body);
  for (const one of bodies) watch.add(one);
  for (const gone of [0, 3]) watch.delete(bodies[gone]!);
  await turn();
  await clock.advance(10 * LONGEST_MS);
  expect(stalled.toSorted()).toEqual(["b", "c", "e"]);
  expect(clock.waiting).toBe(0);
});

test("one that was heard of meanwhile gets its whole time again", async () => {
  const { clock, watch, stalled, body } = setup();
  const [slow, steady] = [body("slow"), body("steady")];
  for (const one of [slow, steady]) watch.add(one);
  await turn();
  await clock.advance(LONGEST_MS / 2);
  steady.heardAt = clock.monotonic();
  await clock.advance(LONGEST_MS / 2);
  expect(stalled).toEqual(["slow"]);
  await clock.advance(LONGEST_MS / 2);
  expect(stalled).toEqual(["slow", "steady"]);
});

test("one that came twice is there once, and one that left twice takes nobody along", async () => {
  const { clock, watch, stalled, body } = setup();
  const [first, second] = [body("first"), body("second")];
  for (const one of [first, second, first]) watch.add(one);
  watch.delete(first);
  watch.delete(first);
  await turn();
  await clock.advance(LONGEST_MS);
  expect(stalled).toEqual(["second"]);
});

test("not one that was ended by another that stalled", async () => {
  const { clock, watch, stalled, body } = setup();
  const ended = body("ended");
  const first: Arriving = { heardAt: clock.monotonic(), stalled: () => watch.delete(ended) };
  for (const one of [first, ended]) watch.add(one);
  await turn();
  await clock.advance(LONGEST_MS);
  expect(stalled).toEqual([]);
});

test("one that comes back when it is told waits anew", async () => {
  const { clock, watch, stalled } = setup();
  const again: Arriving = {
    heardAt: clock.monotonic(),
    stalled: () => {
      stalled.push("told");
      again.heardAt = clock.monotonic();
      if (stalled.length < 3) watch.add(again);
    },
  };
  watch.add(again);
  await turn();
  for (let round = 0; round < 5; round++) await clock.advance(LONGEST_MS);
  expect(stalled).toEqual(["told", "told", "told"]);
  expect(clock.waiting).toBe(0);
});
