/** Terminal sizes that arrive faster than anyone can see. */
import { expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { RESIZE_MS, Resizes } from "./resizes.ts";

test("of thousands at once the first and the last are told, one in a while", async () => {
  const clock = new FakeClock();
  const told: number[] = [];
  const resizes = new Resizes(clock, async ({ columns }) => void told.push(columns));
  for (let columns = 1; columns <= 7000; columns++) resizes.set({ columns, rows: 24 });
  await clock.advance(RESIZE_MS - 1);
  expect(told).toEqual([1]);
  await clock.advance(RESIZE_MS);
  expect(told).toEqual([1, 7000]);
});
