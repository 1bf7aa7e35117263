/** A name that is typed again counts by what can be seen of it. */
import { expect, test } from "vitest";
import { seenText } from "./seen-text.ts";

test.each([
  ["two  spaces", "two spaces"],
  ["line\nbreak", "line break"],
  [" around ", "around"],
  ["\u202Eright to left\u200B", "right to left"],
  ["e\u0301", "\u00e9"],
  ["\u200B", ""],
])("%j is seen as %j", (name, seen) => {
  expect(seenText(name)).toBe(seen);
});
