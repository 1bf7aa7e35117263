/** An update names what was changed in a form, and nothing else. */
import { expect, it } from "vitest";
import { changedIn, withChanges } from "./changed.ts";

const workers = {
  type: "object",
  "x-merges": true,
  properties: { min: { type: "integer", default: 0 }, max: { type: "integer" }, idleTimeout: { type: "integer" } },
};
const scaling = { type: "object", properties: { type: { type: "string" }, queueDelay: { type: "integer" } } };
const shape = { properties: { name: { type: "string" }, cmd: { type: "array" }, workers, scaling } };
const known = {
  ...{ name: "a", cmd: ["run"], workers: { min: 0, max: 3, idleTimeout: 5 } },
  scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
};

it("leaves out what is as it was", () => {
  expect(changedIn(shape, known, { ...known, name: "b" })).toEqual({ name: "b" });
});

it("clears a field in the way of its type", () => {
  const { cmd: _, ...without } = known;
  expect(changedIn(shape, known, without)).toEqual({ cmd: [] });
});

it("names single members of a group that an update merges, and other groups as a whole", () => {
  const next = { ...known, workers: { ...known.workers, max: 9 }, scaling: { ...known.scaling, queueDelay: 8 } };
  expect(changedIn(shape, known, next)).toEqual({
    ...{ workers: { max: 9 }, scaling: { type: "QUEUE_DELAY", queueDelay: 8 } },
  });
});

it("shows a change over what others changed meanwhile", () => {
  const later = { ...known, workers: { ...known.workers, idleTimeout: 60 } };
  expect(withChanges(shape, later, { workers: { max: 9 } })).toEqual({
    ...later,
    workers: { min: 0, max: 9, idleTimeout: 60 },
  });
});

it("names nothing once a member is as it was again", () => {
  const next = withChanges(shape, known, { workers: { max: 3 } });
  expect(changedIn(shape, known, next)).toEqual({});
});
