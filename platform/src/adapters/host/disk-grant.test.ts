/** The size of programs' disks: the requested size while there is space for it, and never all of the free space. */
import { expect, test } from "vitest";
import { grantedBytes } from "./disk-grant.ts";

const MB = 2 ** 20;
const GB = 2 ** 30;

test("what is asked for is granted while it fits beside what others were granted", () => {
  const room = { totalBytes: 100 * GB, freeBytes: 82 * GB };
  expect(grantedBytes(50 * GB, { ...room, promisedBytes: 0 })).toBe(50 * GB);
  expect(grantedBytes(30 * GB, { ...room, promisedBytes: 50 * GB })).toBe(30 * GB);
});

test("else half of what is left, so that many together never take the margin, and each has some", () => {
  const freeBytes = 82 * GB;
  let promisedBytes = 0;
  const grants = Array.from({ length: 6 }, () => {
    const granted = grantedBytes(50 * GB, { totalBytes: 100 * GB, freeBytes, promisedBytes })!;
    promisedBytes += granted;
    return granted / GB;
  });
  expect(grants).toEqual([50, 15, 7.5, 3.75, 1.875, 1]);
  expect(promisedBytes).toBeLessThan(80 * GB);
});

test("one that asks for more than the whole disk is granted no more than half of what is free without the margin", () => {
  expect(grantedBytes(500 * GB, { totalBytes: 2 * GB, freeBytes: 1100 * MB, promisedBytes: 0 })).toBeLessThan(550 * MB);
});

test("without room there is none", () => {
  expect(grantedBytes(GB, { totalBytes: 100 * GB, freeBytes: 2 * GB + 10 * MB, promisedBytes: 0 })).toBeUndefined();
});
