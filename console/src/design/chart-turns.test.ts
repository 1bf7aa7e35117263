/** When the charts of a page are built and drawn. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inTurn } from "./chart-turns.ts";

let frames: (() => void)[];
let done: string[];

beforeEach(() => {
  vi.useFakeTimers();
  frames = [];
  done = [];
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => frames.push(run));
});
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const chart = (name: string) =>
  inTurn(() => {
    done.push(`${name} is built`);
    return () => done.push(`${name} is drawn`);
  });
const frame = () => {
  for (const run of frames.splice(0)) run();
};
const task = () => vi.advanceTimersToNextTimer();

test("nothing is built before the page is shown, nor within the frame that shows it", () => {
  chart("one");
  vi.runAllTimers();
  frame();
  expect(done).toEqual([]);
  task();
  expect(done).toEqual(["one is built"]);
});

test("each step is a task of its own, and a chart is drawn before the next one is built", () => {
  chart("one");
  chart("two");
  frame();
  const steps = ["one is built", "one is drawn", "two is built", "two is drawn"];
  for (const count of steps.keys()) {
    task();
    expect(done).toEqual(steps.slice(0, count + 1));
  }
});

test("a chart that leaves is neither built nor drawn, also between the two", () => {
  const leave = chart("one");
  const leaveToo = chart("two");
  chart("three");
  leaveToo();
  frame();
  task();
  leave();
  vi.runAllTimers();
  expect(done).toEqual(["one is built", "three is built", "three is drawn"]);
});

test("a chart that fails does not keep the next ones from being drawn", () => {
  inTurn(() => {
    throw new Error("no canvas");
  });
  chart("two");
  frame();
  expect(task).toThrow("no canvas");
  vi.runAllTimers();
  chart("three");
  frame();
  vi.runAllTimers();
  expect(done).toEqual(["two is built", "two is drawn", "three is built", "three is drawn"]);
});
