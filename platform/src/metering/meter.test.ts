/** How an instance is metered: its spans follow without a gap, and each is written in the commit of the move that begins or ends it. */
import { expect, test } from "vitest";
import { workerDoc } from "../../tests/worker-doc.ts";
import { gpuPrice } from "../catalog/compute.ts";
import { FakeClock } from "../kernel/clock.ts";
import { InstanceRecords } from "../machines/instance-records.ts";
import { Collection } from "../ports/store/collection.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import type { Write } from "../ports/store/store.ts";
import { WorkerRecords } from "../resources/workers/records.ts";
import { spans } from "./span.ts";

const T0 = Date.UTC(2026, 0, 1);
const PLACE = {
  machine: "m",
  box: "b",
  dataCenter: "US-KS-2",
  vcpu: 8,
  memoryMb: 1024,
  diskGb: 0,
  flavor: null,
  gpuType: "NVIDIA A40",
  gpuCount: 2,
};

/** Records which kinds were written together. */
class NotingStore extends MemoryStore {
  readonly commits: string[][] = [];

  override async commit(writes: Write[]) {
    const written = await super.commit(writes);
    this.commits.push(written.map(({ kind }) => kind));
    return written;
  }
}

async function setup() {
  const store = new NotingStore();
  const clock = new FakeClock();
  const instances = new InstanceRecords({ store, clock });
  const records = new WorkerRecords({ store, instances });
  const doc = workerDoc({ owner: "ep", image: "img", template: "tpl", createdBy: "key" });
  const counted = await instances.counted();
  const wanted = (await records.insert({ id: "w", account: "acc", createdAt: clock.now(), doc }, counted))!;
  const placed = (await records.place(wanted, PLACE, counted))!;
  return {
    store,
    clock,
    records,
    placed,
    async spans() {
      const found = [];
      for await (const { account, doc } of new Collection(store, spans).all()) found.push({ account, ...doc });
      return found.toSorted((a, b) => a.from - b.from);
    },
  };
}

test("nothing is metered before the program runs", async () => {
  const { spans } = await setup();
  expect(await spans()).toEqual([]);
});

test("a span says whose it is, what of, where, at what price, and since when", async () => {
  const { records, placed, clock, spans, store } = await setup();
  await clock.advance(5000);
  await records.move(placed, "start", { startedAt: T0 + 4000 });
  expect(await spans()).toEqual([
    {
      ...{
        account: "acc",
        instance: "w",
        kind: "worker",
        owner: "ep",
        phase: "running",
        image: "img",
        template: "tpl",
      },
      ...{
        gpuType: "NVIDIA A40",
        gpuCount: 2,
        flavor: null,
        vcpu: 8,
        memoryMb: 1024,
        diskGb: 0,
        dataCenter: "US-KS-2",
      },
      // 0.00034 USD a second for each GPU of its pool, in 1e-9 USD an hour.
      price: { gpu: 2 * 340_000 * 3600, cpu: 0, disk: 0, storage: 0 },
      ...{ createdBy: "key", from: T0 + 4000, to: null, v: 2 },
    },
  ]);
  expect(store.commits.at(-1)).toEqual(["instance", "span"]);
});

test("freezing and thawing make a line of spans without a gap, the frozen ones free", async () => {
  const { records, placed, clock, spans, store } = await setup();
  let worker = (await records.move(placed, "start", { startedAt: T0 }))!;
  for (const move of ["answer", "freeze", "thaw", "drain"] as const) {
    await clock.advance(1000);
    worker = (await records.move(worker, move))!;
  }
  await clock.advance(1000);
  await records.remove("w");
  const told = (await spans()).map(({ phase, from, to, free }) => ({ phase, from: from - T0, to: to! - T0, free }));
  expect(told).toEqual([
    { phase: "running", from: 0, to: 2000, free: undefined },
    { phase: "frozen", from: 2000, to: 3000, free: "frozen" },
    { phase: "running", from: 3000, to: 5000, free: undefined },
  ]);
  expect(store.commits.filter((kinds) => kinds.includes("span"))).toEqual([
    ["instance", "span"],
    ["instance", "span", "span"],
    ["instance", "span", "span"],
    ["instance", "span"],
  ]);
});

test("a failed start is on record and free", async () => {
  const { records, placed, clock, spans } = await setup();
  const started = (await records.move(placed, "start", { startedAt: T0 }))!;
  await clock.advance(3000);
  await records.move(started, "fail", { failedAt: T0 + 3000 }, { at: T0 + 2000, free: "failed start" });
  expect(await spans()).toMatchObject([{ from: T0, to: T0 + 2000, free: "failed start" }]);
  await records.remove("w");
  expect(await spans()).toHaveLength(1);
});

test("of two who end the same worker one ends its span", async () => {
  const { records, placed, store, clock, spans } = await setup();
  const started = (await records.move(placed, "start", { startedAt: T0 }))!;
  const other = new WorkerRecords({ store, instances: new InstanceRecords({ store, clock }) });
  await clock.advance(1000);
  await Promise.all([records.move(started, "drain"), other.remove("w"), records.remove("w", { at: T0 + 500 })]);
  const [span, ...more] = await spans();
  expect(more).toEqual([]);
  expect([T0 + 500, T0 + 1000]).toContain(span!.to);
});

test("a span that is lost does not keep its worker from ending", async () => {
  const { records, placed, store, spans: all } = await setup();
  const started = (await records.move(placed, "start", { startedAt: T0 }))!;
  await new Collection(store, spans).remove("w.1");
  expect(await records.move(started, "drain")).toBeDefined();
  await records.remove("w");
  expect([await records.all(), await all()]).toEqual([[], []]);
});

test("a clock that is set back makes no span shorter than nothing", async () => {
  const { records, placed, spans } = await setup();
  const started = (await records.move(placed, "start", { startedAt: T0 }))!;
  const ready = (await records.move(started, "answer"))!;
  const frozen = (await records.move(ready, "freeze", {}, { at: T0 - 60_000 }))!;
  await records.move(frozen, "thaw", {}, { at: T0 - 30_000 });
  await records.remove("w", { at: T0 + 1000 });
  const told = (await spans()).map(({ from, to }) => [from - T0, to! - T0]);
  expect(told.toSorted((a, b) => a[1]! - b[1]!)).toEqual([
    [0, 0],
    [0, 0],
    [0, 1000],
  ]);
});

test("time that was paid for is not paid for again by a node whose clock is behind", async () => {
  const { records, placed, spans } = await setup();
  let worker = (await records.move(placed, "start", { startedAt: T0 }))!;
  // Its machine is silent, by the clock of a node that is a minute ahead, and is heard of again by one that is not.
  worker = (await records.instances.patch(
    worker,
    { unheard: { since: T0 + 60_000, until: null } },
    { at: T0 + 60_000 },
  ))!;
  worker = (await records.instances.patch(worker, { unheard: { since: T0 + 60_000, until: T0 + 4000 } }))!;
  await records.remove("w", { at: T0 + 90_000 });
  const told = (await spans()).map(({ from, to }) => [from - T0, to! - T0]);
  expect(told).toEqual([
    [0, 60_000],
    [60_000, 90_000],
  ]);
});

test("a member of a cluster is paid for with its cluster, at the price of members", async () => {
  const { records, placed, spans } = await setup();
  await records.move(placed, "start", { startedAt: T0, cluster: "cl" });
  const price = { gpu: Math.round(2 * gpuPrice.member("NVIDIA A40") * 1e9), cpu: 0, disk: 0 };
  expect(await spans()).toMatchObject([{ instance: "w", kind: "member", owner: "cl", price }]);
});
