/** How `npm run bench -- --check` compares figures with the best ones kept. */
import { expect, test } from "vitest";
import { bestOf, type Checked, compare } from "../bench/src/check.ts";

const share = (value: number): Checked => ({ row: "1", name: "share", value, better: "more" });
const seconds = (value: number): Checked => ({ row: "15", name: "seconds", value, better: "less" });

test.each([
  [0.81, "better"],
  [0.8, "as before"],
  [0.77, "as before"],
  [0.75, "warning"],
  [0.71, "failed"],
])("a share of %d against a best of 0.8: %s", (value, verdict) => {
  expect(compare([share(value)], { share: 0.8 })[0]!.verdict).toBe(verdict);
});

test.each([
  [0.9, "better"],
  [1.04, "as before"],
  [1.08, "warning"],
  [1.2, "failed"],
])("%d seconds against a best of 1: %s", (value, verdict) => {
  expect(compare([seconds(value)], { seconds: 1 })[0]!.verdict).toBe(verdict);
});

test("the better of both is kept, with what was not measured and what is new", () => {
  const kept = { share: 0.8, seconds: 1, other: 5 };
  const compared = compare([share(0.9), seconds(2), { ...share(3), name: "new" }], kept);
  expect(bestOf(compared, kept)).toEqual({ share: 0.9, seconds: 1, other: 5, new: 3 });
});
