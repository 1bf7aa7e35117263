/** A row that a map could not keep says why. */
import { expect, test } from "vitest";
import { faultOfRow, type MapRow } from "./map-rows.ts";

test("a name that is there twice and a value without a name are faults of their rows, and an empty row is none", () => {
  const rows: MapRow[] = [
    ["A", "1"],
    ["B", ""],
    ["A", "2"],
    ["", "3"],
    ["", ""],
  ];
  expect(rows.map((_, index) => faultOfRow(rows, index))).toEqual([
    undefined,
    undefined,
    "A is there twice.",
    "A value needs a name.",
    undefined,
  ]);
});
