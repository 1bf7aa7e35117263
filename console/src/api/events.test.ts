/** What events do to answers that were read: many at once, and nothing where they say nothing. */
import type { AccountEvent } from "@millrace/platform/resources/events/model.ts";
import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Changes, folded } from "./events.ts";
import { keyOf } from "./queries.ts";

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

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A page that shows secrets, and how often it asked for them after its first read. */
async function secretsPage() {
  const cache = new QueryClient();
  let asked = -1;
  const queryFn = async () => ({ secrets: [], asked: ++asked });
  const leave = new QueryObserver(cache, { queryKey: keyOf("listSecrets"), queryFn }).subscribe(() => undefined);
  await vi.advanceTimersByTimeAsync(0);
  const changes = new Changes(cache);
  const change = () => changes.take({ type: "changed", resource: "secrets", id: "s", version: 1 });
  return { asked: () => asked, change, [Symbol.dispose]: leave };
}

test("a single change is read after a tenth of a second", async () => {
  using page = await secretsPage();
  page.change();
  await vi.advanceTimersByTimeAsync(99);
  expect(page.asked()).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(page.asked()).toBe(1);
});

test("a few changes one after the other are read soon too", async () => {
  using page = await secretsPage();
  for (let changes = 1; changes <= 3; changes++) {
    page.change();
    await vi.advanceTimersByTimeAsync(500);
    expect(page.asked()).toBe(changes);
  }
});

test("a flood of changes is read at its beginning, and then once a second", async () => {
  using page = await secretsPage();
  const flood = async (forMs: number) => {
    for (let ms = 0; ms < forMs; ms += 10) {
      page.change();
      await vi.advanceTimersByTimeAsync(10);
    }
  };
  await flood(1000);
  expect(page.asked()).toBe(3);
  await flood(10_000);
  expect(page.asked()).toBe(13);
});

test("the last change of a flood is read too", async () => {
  using page = await secretsPage();
  page.change();
  await vi.advanceTimersByTimeAsync(150);
  page.change();
  await vi.advanceTimersByTimeAsync(100);
  expect(page.asked()).toBe(1);
  await vi.advanceTimersByTimeAsync(250);
  expect(page.asked()).toBe(2);
});
