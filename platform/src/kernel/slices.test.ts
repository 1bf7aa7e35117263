/** Slices: other work gets its turn between them, but not more often than needed. */
import { expect, test } from "vitest";
import { bytesInSlices, mappedInSlices, Slices } from "./slices.ts";

test("work below a slice waits for nothing, and a full slice for everybody else", async () => {
  const slices = new Slices(10);
  expect(slices.did(9)).toBeUndefined();
  const seen: string[] = [];
  setImmediate(() => seen.push("another"));
  await slices.did(1);
  seen.push("we");
  expect(seen).toEqual(["another", "we"]);
  expect(slices.did(9)).toBeUndefined();
});

test("items are mapped in their order, and others get their turn after each full slice", async () => {
  const seen: string[] = [];
  setImmediate(() => seen.push("another"));
  const mapped = await mappedInSlices(["a", "b", "c"], 2, (item) => {
    seen.push(item);
    return item.toUpperCase();
  });
  expect(mapped).toEqual(["A", "B", "C"]);
  expect(seen).toEqual(["a", "b", "another", "c"]);
});

test("bytes in slices are the same bytes, none of them copied", () => {
  const pieces = [Buffer.from("abcde"), Buffer.from(""), Buffer.from("fg")];
  const slices = [...bytesInSlices(pieces, 2)];
  expect(slices.map(String)).toEqual(["ab", "cd", "e", "fg"]);
  expect(slices[0]!.buffer).toBe(pieces[0]!.buffer);
});
