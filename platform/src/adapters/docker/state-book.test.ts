/** Listeners hear of every change once and in order. */
import { expect, test } from "vitest";
import type { Instance, InstanceState } from "../../ports/compute/compute.ts";
import { StateBook } from "./state-book.ts";

const instance = (state: InstanceState, id = "i"): Instance => ({
  id,
  kind: "worker",
  owner: "endpoint",
  state,
  startedAt: 1,
  ...(state === "exited" && { exit: { code: 0, at: 2 } }),
});

function setup() {
  const book = new StateBook();
  const heard: string[] = [];
  book.watch(({ id, state, exit }) => heard.push(`${id} ${state}${exit ? ` ${exit.code}` : ""}`));
  return { book, heard };
}

test("the same state is told once, however often it is seen", () => {
  const { book, heard } = setup();
  for (const state of ["running", "running", "frozen", "running", "exited", "exited"] as const)
    book.hear(instance(state), "c");
  expect(heard).toEqual(["i running", "i frozen", "i running", "i exited 0"]);
});

test("one that had ended before anyone looked is told as running first", () => {
  const { book, heard } = setup();
  book.hear(instance("exited"), "c");
  expect(heard).toEqual(["i running", "i exited 0"]);
});

test("what was there at the start is not told, only what becomes of it", () => {
  const { book, heard } = setup();
  book.learn(instance("running"), "c");
  book.hear(instance("running"), "c");
  book.hear(instance("exited"), "c");
  expect(heard).toEqual(["i exited 0"]);
});

test("an id that another container has now begins anew, and the old container is no longer known", () => {
  const { book, heard } = setup();
  book.hear(instance("running"), "old");
  book.forget("i");
  book.hear(instance("running"), "new");
  expect(heard).toEqual(["i running", "i running"]);
  expect(book.known("i", "old")).toBeUndefined();
  expect(book.known("i", "new")).toMatchObject({ state: "running" });
});

test("those that have not ended are known", () => {
  const { book } = setup();
  book.learn(instance("running", "a"), "1");
  book.learn(instance("frozen", "b"), "2");
  book.learn(instance("exited", "c"), "3");
  expect(book.alive().map(({ container }) => container)).toEqual(["1", "2"]);
});
