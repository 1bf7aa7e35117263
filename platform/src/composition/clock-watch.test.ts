/** What a server logs about its clock: one line when it differs from the database's, and one when it agrees again. */
import { expect, test } from "vitest";
import { ClockWatch } from "./clock-watch.ts";

function setup() {
  const lines: string[] = [];
  const line = (_fields: object, text: string) => void lines.push(text);
  const watch = new ClockWatch({ log: { info: line, warn: line, error: line } });
  return { lines, watch, heard: (aheadMs: number, errorMs = 1) => watch.heard({ aheadMs, errorMs }) };
}

test("a difference is logged once however long it lasts, and once more when it is over", () => {
  const { lines, heard } = setup();
  for (const aheadMs of [3, 2500, 2600, 990, 2600]) heard(aheadMs);
  expect(lines).toEqual([
    expect.stringContaining("clock is 2.5 s ahead of the database's, and the time limits of jobs"),
  ]);
  for (const aheadMs of [2, 400]) heard(aheadMs);
  expect(lines.slice(1)).toEqual(["this server's clock agrees with the database's again"]);
  heard(-61_000);
  expect(lines.slice(2)).toEqual([expect.stringContaining("clock is 61.0 s behind the database's")]);
});

test("an answer that took as long as the difference is no warning", () => {
  const { lines, heard } = setup();
  heard(2500, 2000);
  expect(lines).toEqual([]);
});

test("while the database is away nothing is known, and its return is not logged as a change", () => {
  const { lines, watch, heard } = setup();
  expect(watch.aheadMs).toBeUndefined();
  heard(2500);
  watch.heard(undefined);
  expect(watch.aheadMs).toBeUndefined();
  heard(2500);
  expect([watch.aheadMs, lines.length]).toEqual([2500, 1]);
});
