/** An endpoint at rest is examined again exactly when something that its rest depends on has changed. */
import { expect, test } from "vitest";
import { workerDoc } from "../../../../tests/worker-doc.ts";
import type { HolderState } from "../../../ports/queue/queue.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import { LiveWorkers } from "./live-workers.ts";
import type { WorkerItem } from "./plan.ts";
import type { Survey } from "./planner.ts";
import { Resting } from "./resting.ts";

const NOTHING_ELSE = { activeAt: new Map(), demand: new Map(), peers: [] };
const machine = { id: "m", boxes: [], dataCenter: "US-KS-2" };
const endpoint = {
  id: "e",
  account: "a",
  createdAt: 0,
  version: 1,
  doc: { name: "n" },
} as unknown as Item<KeptEndpoint>;
const workerItem = (): WorkerItem => ({
  id: "w",
  account: "a",
  createdAt: 0,
  version: 1,
  doc: workerDoc({ machine: "m" }),
});
const worker = workerItem();
const holderOf = (name: string): HolderState => ({ holder: `e/${name}`, endpoint: "e", jobs: 0, leftMs: 30_000 });

type Seen = Pick<Survey, "workers" | "demand" | "live" | "roll">;

function seen(changed: Partial<Seen> = {}, holders = [holderOf("w")]): Seen {
  return {
    workers: new Map([["e", [worker]]]),
    demand: new Map(),
    live: new LiveWorkers({ holders, own: new Set(["e/w"]), balanced: new Map() }),
    roll: { machines: [machine], silent: new Map(), ...NOTHING_ELSE },
    ...changed,
  };
}

/** How often the endpoint is examined at a look, after it was at rest in an earlier one. */
function examined(next: Seen, now = endpoint): number {
  const resting = new Resting();
  let count = 0;
  resting.note(endpoint, seen());
  resting.lookAt(next, () => {
    count++;
    return true;
  });
  expect(resting.isStill("e", now)).toBe(true);
  return count;
}

test("an endpoint of which nothing changed is not examined, even if its workers were gathered anew", () => {
  expect(examined(seen())).toBe(0);
  expect(examined(seen({ workers: new Map([["e", [worker]]]) }))).toBe(0);
});

const changes: [string, Seen][] = [
  ["a record of a worker", seen({ workers: new Map([["e", [workerItem()]]]) })],
  ["a worker that is gone", seen({ workers: new Map() })],
  ["a worker more", seen({ workers: new Map([["e", [worker, workerItem()]]]) })],
  ["a worker that somebody started by hand", seen({}, [holderOf("w"), holderOf("by-hand")])],
  [
    "a job",
    seen({
      demand: new Map([["e", { endpoint: "e", inQueue: 1, lowPriorityInQueue: 0, inProgress: 0, waitingSince: [] }]]),
    }),
  ],
  ["a machine that is drained", seen({ roll: { ...seen().roll, machines: [{ ...machine, isDraining: true }] } })],
  ["a machine that is gone", seen({ roll: { ...seen().roll, machines: [] } })],
  ["a silent machine", seen({ roll: { ...seen().roll, silent: new Map([["n", { since: 0, isGone: false }]]) } })],
];

test.each(changes)("%s makes the planner examine the endpoint", (_, next) => {
  expect(examined(next)).toBe(1);
});

test("a changed endpoint is examined, and one that was not at rest is never taken for one that is", () => {
  expect(examined(seen(), { ...endpoint })).toBe(1);
  const resting = new Resting();
  resting.lookAt(seen(), () => true);
  expect(resting.isStill("e", endpoint)).toBe(false);
});

/** Whether no endpoint has to be looked at, after all were at rest in an earlier look. */
function areAllStill(next: Seen, book: object): boolean {
  const resting = new Resting();
  resting.lookAt(ALL_SEEN, () => true);
  resting.noteAll(BOOK, true);
  resting.lookAt(next, () => true);
  return resting.areAllStill(book);
}

const ALL_SEEN = seen();
const BOOK = {};

test("while nothing at all changed, no endpoint is looked at", () => {
  expect(areAllStill({ ...seen(), workers: ALL_SEEN.workers }, BOOK)).toBe(true);
  expect(areAllStill({ ...seen(), workers: ALL_SEEN.workers }, {})).toBe(false);
});

test.each(changes)("%s makes the planner look at all endpoints", (_, next) => {
  const { workers } = next.workers.get("e")?.[0] === worker && next.workers.get("e")?.length === 1 ? ALL_SEEN : next;
  expect(areAllStill({ ...next, workers }, BOOK)).toBe(false);
});

test("a look in which one endpoint was not at rest does not speak for the next one", () => {
  const resting = new Resting();
  resting.lookAt(ALL_SEEN, () => true);
  resting.noteAll(BOOK, false);
  expect(resting.areAllStill(BOOK)).toBe(false);
});
