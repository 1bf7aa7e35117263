/** Times as people read them, in the language of the console. */
import { expect, test } from "vitest";
import { countText, sinceText } from "./facts.tsx";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

test.each([
  [0, "now"],
  [-400, "now"],
  [-5000, "5 s ago"],
  [-59_000, "59 s ago"],
  [-90_000, "1 min ago"],
  [-3 * 60 * MINUTE, "3 h ago"],
  [-DAY, "1 day ago"],
  [-40 * DAY, "1 month ago"],
  [-800 * DAY, "2 years ago"],
  [29 * MINUTE, "in 29 min"],
])("%i ms from now is said as %s", (ms, text) => {
  expect(sinceText(NOW + ms, NOW)).toBe(text);
});

test.each([
  [0, "0"],
  [999, "999"],
  [1234567, "1,234,567"],
  [-1234, "-1,234"],
  [0.25, "0.25"],
  [1234.5678, "1,234.568"],
])("%f is counted as %s, whatever the language of the browser", (count, text) => {
  expect(countText(count)).toBe(text);
});
