/** When a thread that keeps little collects what it has gathered. */
import { expect, test } from "vitest";
import { turn } from "./clock.ts";
import { SmallHeap } from "./collector.ts";

const MIB = 1_048_576;
const MANY = 200;

function setup() {
  const seen = { used: 4 * MIB, collections: 0 };
  const heap = new SmallHeap(
    () => seen.used,
    () => {
      seen.collections++;
      seen.used = 4 * MIB;
    },
  );
  const work = (bytesEach: number, messages = MANY) => {
    for (let i = 0; i < messages; i++) {
      seen.used += bytesEach;
      heap.tidy();
    }
  };
  return { seen, work };
}

test("garbage that gathers is collected before it is 9 MB", () => {
  const { seen, work } = setup();
  for (let i = 0; i < 1000; i++) {
    work(10_000, 1);
    expect(seen.used).toBeLessThan(13 * MIB);
  }
  expect(seen.collections).toBe(1);
});

test("nothing is collected while no more is held than a busy thread needs", () => {
  const { seen, work } = setup();
  work(8 * (MIB / MANY));
  work(0, 10_000);
  expect(seen.collections).toBe(0);
});

test("what a collection leaves is not collected again", () => {
  const seen = { used: 0, collections: 0 };
  const heap = new SmallHeap(
    () => seen.used,
    () => void seen.collections++,
  );
  seen.used = 20 * MIB;
  for (let i = 0; i < 1000; i++) heap.tidy();
  expect(seen.collections).toBe(1);
});

test("this thread's own garbage goes", async () => {
  let used = 0;
  const heap = new SmallHeap(() => used);
  const dropped = new WeakRef({});
  // A reference keeps what it leads to until the turn ends.
  await turn();
  used = 20 * MIB;
  for (let i = 0; i < MANY; i++) heap.tidy();
  expect(dropped.deref()).toBeUndefined();
});
