/** Which row each element of a long list shows while one scrolls. */
import { expect, test } from "vitest";
import { ring } from "./ring.ts";

test("rows stand in order where the first element is that of the first row", () => {
  expect(ring(0, 5, 0)).toEqual([0, 1, 2, 3, 4]);
  expect(ring(7, 5, 2)).toEqual([7, 8, 9, 10, 11]);
});

test("while one scrolls, elements stay where they are and only those that left sight show another row", () => {
  expect(ring(2, 5, 0)).toEqual([5, 6, 2, 3, 4]);
  expect(ring(3, 5, 0)).toEqual([5, 6, 7, 3, 4]);
});

test("every row in sight is shown once, by the element of its number", () => {
  for (let first = 0; first < 30; first++)
    for (let turn = 0; turn < 7; turn++) {
      const rows = ring(first, 7, turn);
      expect(rows.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 7 }, (_, n) => first + n));
      expect(rows.map((row) => row % 7)).toEqual(Array.from({ length: 7 }, (_, n) => (turn + n) % 7));
    }
});

test("an empty list has no rows", () => {
  expect(ring(0, 0, 0)).toEqual([]);
});
