/** Lifecycles: a table decides every state times every move, and nothing else does. */
import { describe, expect, test } from "vitest";
import { lifecycle, type Moved, type StateOf, WrongMove } from "./lifecycle.ts";

const table = {
  of: "sample",
  states: { WAITING: "It waits.", RUNNING: "It runs.", DONE: "It is done.", FAILED: "It failed." },
  begins: ["WAITING"],
  moves: {
    start: { from: ["WAITING"], to: "RUNNING" },
    finish: { from: ["RUNNING"], to: "DONE" },
    fail: { from: ["RUNNING"], to: "FAILED" },
    cancel: { from: ["WAITING", "RUNNING"], to: "DONE", asked: "pods:write" },
    retry: { from: ["FAILED"], to: "WAITING", asked: "pods:write" },
  },
} as const;
type State = keyof typeof table.states;
type Move = keyof typeof table.moves;

const sample = lifecycle<State, Move>({ ...table, revivals: ["retry"] });

/** The whole table of the sample, written out by hand. A dash means that the move is refused. */
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
    if (to !== "-") {
      expect(sample.next(state, move)).toBe(to);
      expect(sample.move("s1", state, move)).toBe(to);
      expect(() => sample.assert(state, move)).not.toThrow();
    } else {
      const refusal = expect.objectContaining({ code: "wrong-state", detail: `cannot ${move} while ${state}` });
      expect(() => sample.next(state, move)).toThrow(refusal);
      expect(() => sample.assert(state, move)).toThrow(refusal);
      expect(() => sample.move("s1", state, move)).toThrow(WrongMove);
    }
  });
});

test("a move that a record cannot make is a programming error, which names the record, from where and to where", () => {
  expect(() => sample.move("s1", "DONE", "start")).toThrow(
    "sample s1 cannot start from DONE to RUNNING: its lifecycle has no such move",
  );
});

test("a record begins where its life begins", () => {
  expect(sample.begin("WAITING")).toBe("WAITING");
  expect(() => sample.begin("DONE")).toThrow("sample cannot begin as DONE: its lifecycle begins elsewhere");
});

test("a state that is written by hand is no state of a record", () => {
  const record: { state: Moved<StateOf<typeof sample>> } = { state: sample.begin("WAITING") };
  // @ts-expect-error only a move leads to a state
  record.state = "RUNNING";
  record.state = sample.move("s1", "WAITING", "start");
  expect(record).toEqual({ state: "RUNNING" });
});

test("the states are those that the table names, each once", () => {
  expect([...sample.states].sort()).toEqual(["DONE", "FAILED", "RUNNING", "WAITING"]);
});

test("a caller may ask for the moves that say so, where they start", () => {
  expect(Object.fromEntries(sample.states.map((state) => [state, sample.actions(state)]))).toEqual({
    ...{ WAITING: ["cancel"], RUNNING: ["cancel"] },
    ...{ DONE: [], FAILED: ["retry"] },
  });
});

test("a state is final when nothing but a revival leads out of it", () => {
  expect(sample.states.filter((state) => sample.isFinal(state))).toEqual(["DONE", "FAILED"]);
});

test("without revivals every move counts as leaving", () => {
  const { isFinal } = lifecycle<State, Move>(table);
  expect(isFinal("FAILED")).toBe(false);
  expect(isFinal("DONE")).toBe(true);
});

test("a move that the table does not have is no program", () => {
  // @ts-expect-error the table has no such move
  expect(() => sample.next("DONE", "explode")).toThrow();
  // @ts-expect-error the table has no such state
  expect(() => sample.next("NOWHERE", "start")).toThrow("cannot start while NOWHERE");
});
