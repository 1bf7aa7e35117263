/** Turns: fair between parties, and in order within each party. */
import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

test("parties take turns, whatever each of them has, and each one's own order stays", () => {
  const turns = new Turns<string>();
  for (const item of ["a1", "a2", "a3"]) turns.add("a", item);
  turns.add("b", "b1");
  const taken = [turns.next(), turns.next()];
  turns.add("c", "c1");
  turns.add("b", "b2");
  while (turns.parties > 0) taken.push(turns.next());
  expect(taken).toEqual(["a1", "b1", "a2", "c1", "b2", "a3"]);
  expect(turns.next()).toBeUndefined();
});
