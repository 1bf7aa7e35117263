/** Comparing values as JSON. */
import { expect, test } from "vitest";
import { changedIn, isSame } from "./same.ts";

const SAME: [unknown, unknown][] = [
  [1, 1],
  [null, null],
  [
    { a: 1, b: { c: [1, 2], d: null } },
    { b: { d: null, c: [1, 2] }, a: 1 },
  ],
  [{ a: 1 }, { a: 1, b: undefined }],
  [[], []],
];

const OTHER: [unknown, unknown][] = [
  [1, "1"],
  [null, undefined],
  [{}, []],
  [{}, null],
  [
    [1, 2],
    [2, 1],
  ],
  [[1], [1, 2]],
  [{ a: 1 }, { a: 1, b: null }],
  [{}, { constructor: "a text" }],
  [{ __proto__: null, toString: "a text" }, {}],
];

test.each(SAME)("%j says what %j says", (one, other) => {
  expect([isSame(one, other), isSame(other, one)]).toEqual([true, true]);
});

test.each(OTHER)("%j says something else than %j", (one, other) => {
  expect([isSame(one, other), isSame(other, one)]).toEqual([false, false]);
});

test("what changes is what is said otherwise", () => {
  const before = { a: 1, b: { x: 1, y: 2 }, c: "c" };
  expect(changedIn(before, { a: 2, b: { y: 2, x: 1 } })).toEqual({ a: 2 });
});
