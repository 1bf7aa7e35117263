/** What people and programs wrote into a job is shown and sent again as it was. */
import { expect, test } from "vitest";
import { parseExact } from "./exact-json.ts";

test.each([
  '{"input":{"seed":12345678901234567890,"steps":[-9007199254740993,3]}}',
  '{"n":9007199254740991,"half":0.5,"text":"12345678901234567890","none":null}',
])("%s stays as it is", (text) => {
  expect(JSON.stringify(parseExact(text))).toBe(text);
});

test("other numbers are numbers", () => {
  expect(parseExact('{"n":9007199254740991,"large":1e300}')).toEqual({ n: 9_007_199_254_740_991, large: 1e300 });
});
