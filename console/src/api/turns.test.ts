/** Many small reads take turns. */
import { expect, test } from "vitest";
import { inTurn } from "./turns.ts";

test("at most four run at once, in the order in which they came, and one that fails gives its place to the next", async () => {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const read = (number: number) =>
    inTurn(async () => {
      begun.push(number);
      await new Promise<void>((resolve, reject) => {
        ends[number] = number === 1 ? () => reject(new Error("refused")) : resolve;
      });
      return number;
    });
  const all = Array.from({ length: 6 }, (_, number) => read(number));
  const answers = Promise.allSettled(all);
  expect(begun).toEqual([0, 1, 2, 3]);
  ends[1]!();
  await expect(all[1]).rejects.toThrow("refused");
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  ends[3]!();
  expect(await all[3]).toBe(3);
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  for (const number of [0, 2, 4, 5]) ends[number]!();
  expect((await answers).map(({ status }) => status).filter((status) => status === "fulfilled")).toHaveLength(5);
});
