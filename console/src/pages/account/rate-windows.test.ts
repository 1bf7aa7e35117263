/** The page of limits shows what the headers of the API say. */
import { expect, test } from "vitest";
import { rateWindows } from "./rate-windows.ts";

test("each window has its size and what is left of it", () => {
  const headers = new Headers({
    "RateLimit-Policy": '"minute";q=600;w=60, "hour";q=18000;w=3600',
    RateLimit: '"minute";r=599;t=12, "hour";r=17000;t=900',
  });
  expect(rateWindows(headers)).toEqual([
    { name: "minute", most: 600, seconds: 60, left: 599, resetsIn: 12 },
    { name: "hour", most: 18000, seconds: 3600, left: 17000, resetsIn: 900 },
  ]);
});

test("without a rate limit there are none", () => {
  expect(rateWindows(new Headers())).toEqual([]);
});
