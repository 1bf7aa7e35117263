/** A volume's price is said before it is made, and is the one that the bill will have. */
import { expect, test } from "vitest";
import { canHold, monthlyPrice, priceOf } from "./prices.ts";

const standard = { type: "STANDARD", perGbMonth: 0.07, beyondTbPerGbMonth: 0.05 } as const;
const fast = { type: "HIGH_PERFORMANCE", perGbMonth: 0.14, beyondTbPerGbMonth: 0.14 } as const;
const center = { id: "EU-RO-1", networkVolumeTypes: ["STANDARD"], networkVolumePrices: [standard, fast] } as never;

test.each([
  [50, 3.5],
  [1000, 70],
  [4000, 220],
])("%d GB cost %d USD a month", (size, usd) => {
  expect(monthlyPrice(size, standard)).toBe(usd);
});

test("without a choice the first tier of the data center counts", () => {
  expect(priceOf(center, undefined)).toBe(standard);
  expect(priceOf(center, "HIGH_PERFORMANCE")).toBe(fast);
  expect(priceOf(undefined, "STANDARD")).toBeUndefined();
});

test("a data center without machines or without volumes holds none", () => {
  const machines = { cpuAvailability: [{}] };
  expect(canHold({ networkVolumeTypes: ["STANDARD"], ...machines } as never)).toBe(true);
  expect(canHold({ networkVolumeTypes: ["STANDARD"] } as never)).toBe(false);
  expect(canHold({ networkVolumeTypes: [], ...machines } as never)).toBe(false);
});
