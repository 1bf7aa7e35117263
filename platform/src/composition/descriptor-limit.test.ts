/** The limit on open files, and how many of them are for connections. */
import { expect, test } from "vitest";
import { connectionsWithin, descriptorLimit } from "./descriptor-limit.ts";

test.each([
  ["Max open files            3000                 4096                 files     ", 3000],
  ["Max open files            unlimited            unlimited            files     ", 1024],
  ["Max processes             3000                 4096                 processes ", 1024],
])("of '%s' it is %i", (line, limit) => {
  expect(descriptorLimit(() => `Limit                     Soft Limit           Hard Limit\n${line}\n`)).toBe(limit);
});

test("where nothing can be read it is what systems have at least", () => {
  const fail = () => {
    throw new Error("no such file");
  };
  expect(descriptorLimit(fail)).toBe(1024);
});

test.each([
  [100, 18],
  [1024, 448],
  [3000, 1312],
  [1_048_576, 10_000],
])("of %i descriptors the files have their part, and each connection may lead on: %i", (limit, connections) => {
  expect(connectionsWithin(limit)).toBe(connections);
});
