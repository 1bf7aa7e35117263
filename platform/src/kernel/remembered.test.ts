/** Remembered values: how long they last, how many are kept, and how they are forgotten. */
import { expect, test } from "vitest";
import { FakeClock } from "./clock.ts";
import { Remembered } from "./remembered.ts";

function setup() {
  const clock = new FakeClock();
  return { clock, remembered: new Remembered<number>(clock, 1000) };
}

test("a value is remembered for less than its time", async () => {
  const { clock, remembered } = setup();
  remembered.set("a", 1);
  await clock.advance(999);
  expect(remembered.get("a")).toBe(1);
  await clock.advance(1);
  expect(remembered.get("a")).toBeUndefined();
});

test("a value that is set anew is remembered from then on", async () => {
  const { clock, remembered } = setup();
  remembered.set("a", 1);
  await clock.advance(600);
  remembered.set("a", 2);
  await clock.advance(600);
  remembered.set("b", 3);
  expect([remembered.get("a"), remembered.get("b")]).toEqual([2, 3]);
});

test("what is deleted or cleared is forgotten at once", () => {
  const { remembered } = setup();
  for (const name of ["a", "b", "c"]) remembered.set(name, 1);
  remembered.delete("a");
  expect([remembered.get("a"), remembered.get("b")]).toEqual([undefined, 1]);
  remembered.clear();
  expect([remembered.get("b"), remembered.get("c")]).toEqual([undefined, undefined]);
});

test("what was read before a deletion is not remembered after it", async () => {
  const { remembered } = setup();
  expect(await remembered.reading("a", async () => 1)).toBe(1);
  expect(remembered.get("a")).toBe(1);
  const { promise, resolve } = Promise.withResolvers<number>();
  const reading = remembered.reading("b", () => promise);
  remembered.delete("b");
  resolve(2);
  expect([await reading, remembered.get("b")]).toEqual([2, undefined]);
});

test("an endless number of names does not fill the memory, and the newest is always known", () => {
  const { remembered } = setup();
  for (let i = 0; i <= 10_000; i++) remembered.set(`name ${i}`, i);
  expect([remembered.get("name 0"), remembered.get("name 10000")]).toEqual([undefined, 10_000]);
});
