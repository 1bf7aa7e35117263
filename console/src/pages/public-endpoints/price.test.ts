/** Prices in words. */
import { expect, test } from "vitest";
import { priceText } from "./price.ts";

const none = { perRequest: 0, perSecond: 0, perMillionInputTokens: 0, perMillionOutputTokens: 0 };

test("only what costs something is named", () => {
  expect(priceText({ price: none })).toBe("Free");
  const text = priceText({ price: { ...none, perRequest: 1, perMillionOutputTokens: 2 } });
  expect(text).toMatch(/1.* a request, .*2.* a million output tokens$/);
});
