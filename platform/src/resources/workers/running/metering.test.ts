/** What is metered for workers, whatever happens to them or to the server. */
import { expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import { type KeptSpan, spans } from "../../../metering/span.ts";
import { Collection } from "../../../ports/store/collection.ts";

const T0 = Date.UTC(2026, 0, 1);

async function lineOf(world: FleetWorld, worker: string) {
  const found: KeptSpan[] = [];
  for await (const { doc } of new Collection(world.store, spans).all({ key: { name: "instance", value: worker } }))
    found.push(doc);
  const inOrder = found.toSorted((a, b) => a.from - b.from || (a.to ?? Infinity) - (b.to ?? Infinity));
  const seconds = (at: number | null) => (at === null ? null : (at - T0) / 1000);
  return inOrder.map(({ phase, from, to, free }) => ({
    phase,
    from: seconds(from),
    to: seconds(to),
    ...(free && { free }),
  }));
}

/** A worker that has done a job, at second 0. */
async function idleWorker(world: FleetWorld): Promise<string> {
  const job = await world.submit();
  await world.settle();
  const worker = world.running()[0]!;
  await worker.take();
  await worker.done(job);
  await world.settle();
  return worker.id;
}

test("from the start of its program to its end", async () => {
  await using world = await setupFleet({ endpoint: { workers: { idleTimeout: 3 } } });
  const worker = await idleWorker(world);
  expect(await lineOf(world, worker)).toEqual([{ phase: "running", from: 0, to: null }]);
  await world.pass(10);
  expect(world.running()).toEqual([]);
  expect(await lineOf(world, worker)).toEqual([{ phase: "running", from: 0, to: 3 }]);
});

test("one that is frozen is free until it is thawed", async () => {
  await using world = await setupFleet({ endpoint: { flashboot: "FLASHBOOT", workers: { idleTimeout: 3 } } });
  const worker = await idleWorker(world);
  await world.pass(10);
  await world.submit();
  await world.settle();
  expect(await lineOf(world, worker)).toEqual([
    { phase: "running", from: 0, to: 3 },
    { phase: "frozen", from: 3, to: 10, free: "frozen" },
    { phase: "running", from: 10, to: null },
  ]);
});

test("a program that ends before it asks for work is free", async () => {
  await using world = await setupFleet();
  await world.submit();
  await world.settle();
  const [worker] = world.running();
  await world.pass(2);
  worker!.instance.exit({ code: 7 });
  await world.settle();
  expect(await lineOf(world, worker!.id)).toEqual([{ phase: "running", from: 0, to: 2, free: "failed start" }]);
});

test("a worker that outlives the server goes on in the same span", async () => {
  const before = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
  const worker = await idleWorker(before);
  await before.pass(3);
  await using world = await before.crash();
  await world.pass(3);
  expect(await lineOf(world, worker)).toEqual([{ phase: "running", from: 0, to: null }]);
});

test("one that ended while no server ran is paid for until its end, where the driver knows when that was", async () => {
  const before = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
  const worker = await idleWorker(before);
  await before.pass(3);
  await before.abandon();
  await before.clock.advance(5000);
  before.compute.instance(worker).exit({ code: 1 });
  await before.clock.advance(60_000);
  await using world = await before.crash();
  expect(await lineOf(world, worker)).toEqual([{ phase: "running", from: 0, to: 8 }]);
});

test("one that is gone without a trace is paid for until the last moment at which a server knew that it ran", async () => {
  const before = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
  const worker = await idleWorker(before);
  await before.pass(22);
  await before.abandon();
  before.compute.lose(worker);
  await before.clock.advance(3_600_000);
  await using world = await before.crash();
  const [span, ...more] = await lineOf(world, worker);
  expect(more).toEqual([]);
  // A server writes every 5 seconds that it is alive, so the end is only known to be in this range.
  expect(span!.to).toBeGreaterThanOrEqual(17);
  expect(span!.to).toBeLessThanOrEqual(22);
});

test("workers are billed as their endpoint, with their disks, as caused by the key that made it", async () => {
  await using world = await setupFleet({ endpoint: { workers: { idleTimeout: 36 }, disk: 73 } });
  await idleWorker(world);
  await world.pass(36);
  const { records } = (await world.call("GET", "/v2/billing/serverless")).json;
  expect(records).toMatchObject([
    { serverlessId: world.endpoint, gpuAmount: 0, cpuAmount: 0.0006, diskAmount: 0.0001 },
  ]);
  const { createdBy } = (await world.services.endpoints.find(world.endpoint))!.doc;
  const { account } = world.owner;
  expect(await world.services.costs.thisMonth({ account, key: createdBy! })).toBe(700_000n);
  expect(await world.services.costs.thisMonth({ account, key: "other" })).toBe(0n);
});
