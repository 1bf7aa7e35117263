/** Bounded work: only so many items are worked on at once, and all of them get done. */
import { expect, test } from "vitest";
import { eachOf } from "./bounded.ts";

test("each is worked on once, and no more at once than may be", async () => {
  let now = 0;
  let most = 0;
  const done: number[] = [];
  await eachOf([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, ++now);
    await Promise.resolve();
    now--;
    done.push(item);
  });
  expect([most, done.toSorted()]).toEqual([2, [1, 2, 3, 4, 5]]);
  await eachOf([], 2, () => Promise.reject(new Error("nothing to do")));
});

test("after a failure nothing more is begun", async () => {
  const begun: number[] = [];
  const work = async (item: number) => {
    begun.push(item);
    if (item === 2) throw new Error("two");
  };
  await expect(eachOf([1, 2, 3, 4], 1, work)).rejects.toThrow("two");
  expect(begun).toEqual([1, 2]);
});
