/** What events do to answers that were read: many at once, and nothing where they say nothing. */
import type { AccountEvent } from "@millrace/platform/resources/events/model.ts";
import { expect, test } from "vitest";
import { folded } from "./events.ts";

const events = (...all: object[]) => new Map(all.map((event) => [(event as { id: string }).id, event as AccountEvent]));
const stopped = { type: "changed", resource: "pods", id: "a", status: "STOPPED" };
const gone = { type: "removed", resource: "pods", id: "b" };
const pods = [
  { id: "a", status: "RUNNING" },
  { id: "b", status: "RUNNING" },
  { id: "c", status: "RUNNING" },
];

test("a list shows new statuses, and is without what is gone", () => {
  const next = folded({ pods, total: 3 }, "pods", events(stopped, gone)) as { pods: object[] };
  expect(next.pods).toEqual([{ id: "a", status: "STOPPED", statusReasonCode: null }, pods[2]]);
  expect(next.pods[1]).toBe(pods[2]);
});

test("a list that was read by pages is changed within its pages", () => {
  const other = { pods: [pods[2]] };
  const next = folded({ pages: [{ pods }, other], pageParams: ["", "x"] }, "pods", events(stopped)) as {
    pages: { pods: { status: string }[] }[];
  };
  expect(next.pages[0]!.pods[0]!.status).toBe("STOPPED");
  expect(next.pages[1]).toBe(other);
});

test("an answer that the events say nothing about is not touched", () => {
  const same = { ...stopped, status: "RUNNING" };
  expect(folded({ pods }, "pods", events(same))).toBeUndefined();
  expect(folded(pods[2], "pods", events(stopped, gone))).toBeUndefined();
});

test("the lifecycle of a worker is another word than its list shows", () => {
  const worker = { id: "a", status: "IDLE" };
  expect(folded({ workers: [worker] }, "workers", events({ ...stopped, resource: "workers" }))).toBeUndefined();
});
