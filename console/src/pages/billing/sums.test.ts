/** Bills are added exactly, and every bucket of a window has its place. */
import { expect, test } from "vitest";
import { bucketStarts, costsById, exactText, type History, kindSum, stacked } from "./sums.ts";

const window = (startTime: string, endTime: string, bucketSize: string) =>
  ({ startTime, endTime, bucketSize }) as History["metadata"]["query"];

test.each([
  [0, "$0.00"],
  [12.5, "$12.50"],
  [0.000123456, "$0.000123456"],
  [1e-9, "$0.000000001"],
  [1234567.89, "$1234567.89"],
])("%d is shown as %s", (usd, text) => {
  expect(exactText(usd)).toBe(text);
});

test("amounts that no binary fraction can say add up to what they say", () => {
  expect(kindSum({ podGpuAmount: 0.1, podCpuAmount: 0.2 }, "pods")).toBe(300_000_000);
});

test.each([
  ["day", "2026-03-28T00:00:00.000Z", "2026-03-31T00:00:00.000Z", 3],
  ["hour", "2026-03-28T22:00:00.000Z", "2026-03-29T03:00:00.000Z", 5],
  ["month", "2025-11-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", 3],
  ["year", "2025-01-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z", 2],
])("a window by %s has all of its buckets", (size, start, end, count) => {
  expect(bucketStarts(window(start, end, size))).toHaveLength(count);
});

test("bars stand upon each other, and a bucket without a record is empty", () => {
  const record = {
    startTime: "2026-03-02T00:00:00.000Z",
    serverlessGpuAmount: 0.1,
    podDiskAmount: 0.2,
    totalAmount: 0.3,
  };
  const history = {
    records: [record],
    metadata: { query: window("2026-03-01T00:00:00.000Z", "2026-03-03T00:00:00.000Z", "day") },
  } as unknown as History;
  const { stacks } = stacked(history);
  expect(stacks.map(({ kind, own, top }) => [kind, own, top])).toEqual([
    ["serverless", [0, 0.1], [null, 0.1]],
    ["pods", [0, 0.2], [null, 0.3]],
    ["volumes", [0, 0], [null, null]],
    ["shared", [0, 0], [null, null]],
    ["clusters", [0, 0], [null, null]],
  ]);
});

test("what a resource cost is the sum of its buckets, the dearest first", () => {
  const records = [
    { podId: "a", totalAmount: 0.1 },
    { podId: "b", totalAmount: 0.5 },
    { podId: "a", totalAmount: 0.2 },
  ];
  expect(costsById(records, "podId")).toEqual([
    { id: "b", usd: 0.5 },
    { id: "a", usd: 0.3 },
  ]);
});
