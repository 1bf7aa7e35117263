/** The catalog says where something is free, and finds rows by words of their names. */
import { expect, test } from "vitest";
import { namesMatch, placesText } from "./places.ts";

test("places with the most free come first, and the rest is counted", () => {
  const places = [
    { id: "A", availability: "NONE" },
    { id: "B", availability: "HIGH" },
    { id: "C", availability: "LOW" },
  ] as const;
  expect(placesText(places)).toBe("B, C and 1 more");
  expect(placesText(places.slice(0, 1))).toBe("A");
});

test.each([
  ["rtx 4090", true],
  ["4090 ada", true],
  ["h100", false],
  ["", true],
])("%j is found in the names: %s", (text, isFound) => {
  expect(namesMatch(text, ["NVIDIA GeForce RTX 4090", "ADA_24", null])).toBe(isFound);
});
