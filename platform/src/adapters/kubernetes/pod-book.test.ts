/** Listeners hear of every change once and in order. */
import { expect, test } from "vitest";
import type { Instance } from "../../ports/compute/compute.ts";
import { PodBook } from "./pod-book.ts";

const instance = (state: Instance["state"], more: Partial<Instance> = {}): Instance => ({
  id: "i1",
  kind: "worker",
  owner: "e1",
  state,
  startedAt: 0,
  ...more,
});

function setup() {
  const heard: string[] = [];
  const book = new PodBook();
  book.watch(({ state, waitsFor, exit }) => heard.push([state, waitsFor, exit?.cause].filter(Boolean).join(" ")));
  return { book, heard };
}

test("a program that began and ended between two looks is heard to have run", () => {
  const { book, heard } = setup();
  book.hear("u1", instance("pending"));
  book.hear("u1", instance("exited", { exit: { code: 0, at: 1 } }));
  expect(heard).toEqual(["pending", "running", "exited"]);
});

test("what is heard again is told once, and another reason to wait is news", () => {
  const { book, heard } = setup();
  for (const waitsFor of ["room", "room", "an image"]) book.hear("u1", instance("pending", { waitsFor }));
  for (const _ of [1, 2]) book.hear("u1", instance("running"));
  expect(heard).toEqual(["pending room", "pending an image", "running"]);
});

test("a Pod that somebody removed has ended from outside, unless its end was known", () => {
  const { book, heard } = setup();
  book.hear("u1", instance("running"));
  book.lose("u1", "i1", 5);
  book.hear("u2", instance("exited", { exit: { code: 0, at: 1 } }));
  book.lose("u2", "i1", 6);
  expect(heard).toEqual(["running", "exited ended-outside", "running", "exited"]);
});
