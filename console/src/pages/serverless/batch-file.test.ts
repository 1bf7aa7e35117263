/** Files of requests for batches. */
import { expect, test } from "vitest";
import { inParts, readBatchFile } from "./batch-file.ts";

test("each line is a request, and an object without an input is the input itself", () => {
  const text = '{"input":{"n":1},"policy":{"retries":1}}\n\n{"n":2}\r\n';
  expect(readBatchFile(text)).toEqual({
    requests: [{ input: { n: 1 }, policy: { retries: 1 } }, { input: { n: 2 } }],
    faults: [],
  });
});

test("an array of requests is read as well", () => {
  expect(readBatchFile(' [{"input":{"n":1}}, {"n":2}]').requests).toEqual([{ input: { n: 1 } }, { input: { n: 2 } }]);
});

test("what is wrong is named by its line, and only the first few of many", () => {
  expect(readBatchFile('{"n":1}\n{"n":\n"text"\n{"input":5}').faults).toEqual([
    expect.stringMatching(/^Line 2: is not JSON: /),
    "Line 3: must be a JSON object",
    "Line 4: must be a JSON object",
  ]);
  expect(readBatchFile("1\n".repeat(20)).faults).toHaveLength(6);
  expect(readBatchFile("1\n".repeat(20)).faults.at(-1)).toBe("and 15 more");
  expect(readBatchFile("").faults).toEqual(["The file is empty."]);
  expect(readBatchFile("[1,").faults[0]).toMatch(/^The file: is not JSON/);
});

test("more requests than a batch may have are refused before they are sent", () => {
  expect(readBatchFile("{}\n".repeat(5001)).faults).toEqual([
    "The file has 5001 requests, and a batch has at most 5000.",
  ]);
});

test("parts stay below the length of a body, in order", () => {
  const requests = Array.from({ length: 10 }, (_, n) => ({ input: { n, text: "x".repeat(80) } }));
  const parts = inParts(requests, 350);
  expect(parts.flat()).toEqual(requests);
  for (const part of parts) expect(JSON.stringify(part).length).toBeLessThanOrEqual(350);
  expect(parts.length).toBeGreaterThan(3);
  expect(inParts([])).toEqual([]);
});
