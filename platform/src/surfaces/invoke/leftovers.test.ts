/** When the thread that parses large bodies frees the memory they took. */
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { Leftovers } from "./leftovers.ts";

const MIB = 1_048_576;

function setup() {
  const clock = new FakeClock();
  const seen = { collections: 0 };
  const leftovers = new Leftovers(clock, () => void seen.collections++);
  return { clock, seen, leftovers };
}

test("a second after the last of a few bodies, once", async () => {
  const { clock, seen, leftovers } = setup();
  for (let i = 0; i < 3; i++) {
    leftovers.add(MIB);
    await clock.advance(500);
  }
  expect(seen.collections).toBe(0);
  await clock.advance(500);
  expect(seen.collections).toBe(1);
  await clock.advance(60_000);
  expect([seen.collections, clock.waiting]).toEqual([1, 0]);
});

test("after every 8 MB, however closely they follow each other", () => {
  const { seen, leftovers } = setup();
  for (let i = 0; i < 24; i++) leftovers.add(MIB);
  expect(seen.collections).toBe(3);
});
