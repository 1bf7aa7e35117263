/** Lifecycles: a table decides every state times every move, and nothing else does. */
import { describe, expect, test } from "vitest";
import { lifecycle } from "./lifecycle.ts";

type State = "WAITING" | "RUNNING" | "DONE" | "FAILED";
type Move = "start" | "finish" | "fail" | "cancel" | "retry";

const sample = lifecycle<State, Move>(
  {
    start: { from: ["WAITING"], to: "RUNNING" },
    finish: { from: ["RUNNING"], to: "DONE" },
    fail: { from: ["RUNNING"], to: "FAILED" },
    cancel: { from: ["WAITING", "RUNNING"], to: "DONE" },
    retry: { from: ["FAILED"], to: "WAITING" },
  },
  ["retry"],
);

/** The whole truth about the sample, written out by hand: a dash means that the move is refused. */
const expected: Record<State, Record<Move, State | "-">> = {
  WAITING: { start: "RUNNING", finish: "-", fail: "-", cancel: "DONE", retry: "-" },
  RUNNING: { start: "-", finish: "DONE", fail: "FAILED", cancel: "DONE", retry: "-" },
  DONE: { start: "-", finish: "-", fail: "-", cancel: "-", retry: "-" },
  FAILED: { start: "-", finish: "-", fail: "-", cancel: "-", retry: "WAITING" },
};

describe.each(Object.keys(expected) as State[])("while %s", (state) => {
  test.each(Object.entries(expected[state]) as [Move, State | "-"][])("%s leads to %s", (move, to) => {
    expect(sample.can(state, move)).toBe(to !== "-");
    expect(sample.from(move).includes(state)).toBe(to !== "-");
    if (to !== "-") expect(sample.next(state, move)).toBe(to);
    else {
      const refusal = expect.objectContaining({ code: "wrong-state", detail: `cannot ${move} while ${state}` });
      expect(() => sample.next(state, move)).toThrow(refusal);
    }
  });
});

test("the states are those that the table names, each once", () => {
  expect([...sample.states].sort()).toEqual(["DONE", "FAILED", "RUNNING", "WAITING"]);
});

test("a state is final when nothing but a revival leads out of it", () => {
  expect(sample.states.filter((state) => sample.isFinal(state))).toEqual(["DONE", "FAILED"]);
});

test("without revivals every move counts as leaving", () => {
  const { isFinal } = lifecycle<State, Move>(sample.moves);
  expect(isFinal("FAILED")).toBe(false);
  expect(isFinal("DONE")).toBe(true);
});

test("the diagram has one arrow per state that a move may start in", () => {
  expect(sample.diagram()).toBe(`stateDiagram-v2
  WAITING --> RUNNING: start
  RUNNING --> DONE: finish
  RUNNING --> FAILED: fail
  WAITING --> DONE: cancel
  RUNNING --> DONE: cancel
  FAILED --> WAITING: retry`);
});

test("a move that the table does not have is no program", () => {
  // @ts-expect-error the table has no such move
  expect(() => sample.next("DONE", "explode")).toThrow();
  // @ts-expect-error the table has no such state
  expect(() => sample.next("NOWHERE", "start")).toThrow("cannot start while NOWHERE");
});
