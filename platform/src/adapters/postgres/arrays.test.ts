/** Arrays in PostgreSQL's binary format. The adapters' suites show that PostgreSQL accepts them. */
import { expect, test } from "vitest";
import { bigintArray, readBigints, textArray } from "./arrays.ts";

/** The elements after the header: each has a length before it, and -1 stands for an absent one. */
function elements(array: Buffer): (Buffer | null)[] {
  const found: (Buffer | null)[] = [];
  for (let at = 20; at < array.length; ) {
    const length = array.readInt32BE(at);
    at += 4;
    found.push(length < 0 ? null : array.subarray(at, at + length));
    at += Math.max(0, length);
  }
  return found;
}

test("texts travel as their bytes, and none as none", () => {
  const array = textArray(["ü€", "", null, undefined, '{"a\\"}']);
  expect(elements(array).map((one) => String(one ?? "-"))).toEqual(["ü€", "", "-", "-", '{"a\\"}']);
  expect(array.readInt32BE(4)).toBe(1);
  expect(array.readInt32BE(12)).toBe(5);
});

test("what a text of PostgreSQL cannot hold is replaced", () => {
  expect(elements(textArray(["a\u0000b", "c\ud800d"])).map(String)).toEqual(["a\ufffdb", "c\ufffdd"]);
});

test("whole numbers travel whole", () => {
  const numbers = [0, -1, 1, 2 ** 32, -(2 ** 32) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
  const array = bigintArray([...numbers, null]);
  expect(elements(array).map((one) => one && Number(one.readBigInt64BE()))).toEqual([...numbers, null]);
});

test("numbers are read from PostgreSQL's own notation", () => {
  expect(readBigints("{}")).toEqual([]);
  expect(readBigints("{1,NULL,-3}")).toEqual([1, null, -3]);
});
