/** The memory for bodies fits the machine or is what the operator set. A setting too small for two of the longest bodies is refused. */
import { expect, test } from "vitest";
import { parsePayloadLimits } from "../../jobs/payload-limits.ts";
import { bodyMemory } from "./body-memory.ts";

const MB = 1024 * 1024;
const GB = 1024 * MB;
const limits = parsePayloadLimits("10,20,20,256");

test.each([
  ["1 GB", 1, 256],
  ["8 GB", 8, 1024],
  ["a terabyte", 1024, 2048],
])("on a machine with %s it is an eighth, within bounds", (_size, gb, mb) => {
  expect(bodyMemory(undefined, limits, gb * GB)).toBe(mb * MB);
});

test("it always holds two of the longest bodies", () => {
  expect(bodyMemory(undefined, parsePayloadLimits("10,256,20,256"), GB)).toBe(512 * MB);
});

test("what is set counts, unless two of the longest bodies do not fit", () => {
  expect(bodyMemory(194, limits, 64 * GB)).toBe(194 * MB);
  expect(() => bodyMemory(193, limits)).toThrow("MILLRACE_BODIES_MB must be at least 194");
  expect(() => bodyMemory(300, parsePayloadLimits("10,160,20,256"))).toThrow("at least 320");
});
