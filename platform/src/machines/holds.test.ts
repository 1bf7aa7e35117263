/** What a node believes to hold while it cannot ask: never longer than its lease, whatever its clock is set to. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import { Holds } from "./holds.ts";

const MINUTES_MS = 5 * 60_000;

/** Two nodes with clocks of their own, of which the first has the machine. */
async function setup() {
  const store = new MemoryStore();
  const node = (holder: string) => {
    const clock = new FakeClock();
    const holds = new Holds({ store, clock, holder, named: ["shared"], alone: false });
    return { clock, holds, renew: () => holds.renew(clock.now()), has: () => holds.has("shared") };
  };
  const [first, second] = [node("first"), node("second")];
  await first.renew();
  const pass = async (ms: number) => {
    for (const { clock } of [first, second]) await clock.advance(ms);
  };
  return { first, second, pass };
}

test("a node whose clock was set back lets go when its lease has run out, before another node has the machine", async () => {
  const { first, second, pass } = await setup();
  first.clock.jump(-MINUTES_MS);
  await pass(9_999);
  await second.renew();
  expect([first.has(), second.has()]).toEqual([true, false]);
  await pass(2001);
  await second.renew();
  expect([first.has(), second.has()]).toEqual([false, true]);
});

test("a node whose clock was set ahead lets go at once, and has the machine again when it asks", async () => {
  const { first, second, pass } = await setup();
  first.clock.jump(MINUTES_MS);
  expect(first.has()).toBe(false);
  await pass(2000);
  await first.renew();
  await second.renew();
  expect([first.has(), second.has()]).toEqual([true, false]);
});
