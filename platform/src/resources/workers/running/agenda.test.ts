/** Which endpoints the planner looks at next. */
import { expect, test } from "vitest";
import { Agenda } from "./agenda.ts";

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

test("accounts take turns, however many endpoints one of them has", () => {
  const agenda = new Agenda();
  for (const id of names("a", 1000)) agenda.add("many", id);
  agenda.add("few", "b0");
  expect(agenda.take(4)).toEqual(["a0", "b0", "a1", "a2"]);
});

test("whoever something happened to comes first, and leaves some places to others", () => {
  const agenda = new Agenda();
  for (const id of names("a", 1000)) agenda.wake("many", id);
  agenda.add("few", "b0");
  agenda.wake("few", "b1");
  expect(agenda.take(4)).toEqual(["a0", "b1", "a1", "b0"]);
  expect(agenda.take(4)).toEqual(["a2", "a3", "a4"]);
});

test("one that waits already is looked at once, and first when something happens to it", () => {
  const agenda = new Agenda();
  agenda.add("one", "a0");
  agenda.add("one", "a1");
  agenda.wake("one", "a1");
  agenda.wake("one", "a1");
  agenda.add("one", "a1");
  expect([agenda.take(4), agenda.isEmpty]).toEqual([["a1", "a0"], true]);
  agenda.add("one", "a1");
  expect([agenda.isEmpty, agenda.take(4)]).toEqual([false, ["a1"]]);
});
