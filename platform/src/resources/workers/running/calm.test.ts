/** A worker that does nothing is looked at again exactly when something of it changes or becomes due. */
import { expect, test, vi } from "vitest";
import { type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import { CalmWorkers } from "./calm.ts";

/** The seconds in which the only worker was looked at. */
async function looks(world: FleetWorld, seconds: number, during?: (second: number) => Promise<unknown>) {
  const looked = vi.spyOn(CalmWorkers.prototype, "note");
  const found: number[] = [];
  for (let second = 1; second <= seconds; second++) {
    looked.mockClear();
    await world.pass(1);
    if (looked.mock.calls.length > 0) found.push(second);
    await during?.(second);
  }
  looked.mockRestore();
  return found;
}

async function resting() {
  const world = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
  await world.settle();
  const [worker] = world.running();
  await worker!.ping();
  await world.pass(3);
  return { world, worker: worker! };
}

const hindranceOf = async (world: FleetWorld, worker: string) => (await world.record(worker))?.hindrance?.kind;

test("a worker that pings is looked at only when it would be silent by what was known before", async () => {
  const { world, worker } = await resting();
  await using _ = world;
  await worker.ping();
  const found = await looks(world, 45, (second) => (second % 10 === 0 ? worker.ping() : Promise.resolve()));
  expect(found).toEqual([12, 25, 35, 45]);
  expect(await hindranceOf(world, worker.id)).toBeUndefined();
});

test("a worker that stops to ping is found silent after 15 s, looked at every second from then on, and replaced after 60 s", async () => {
  const { world, worker } = await resting();
  await using _ = world;
  await worker.ping();
  const silent: number[] = [];
  const found = await looks(world, 30, async (second) => {
    if ((await hindranceOf(world, worker.id)) === "silent") silent.push(second);
  });
  expect(silent[0]).toBe(15);
  expect(found.filter((second) => second >= 15)).toEqual(Array.from({ length: 16 }, (_, i) => 15 + i));
  expect(world.started).toEqual([worker.id]);
  await world.pass(35);
  expect(world.running().map(({ id }) => id)).not.toContain(worker.id);
});

test("a worker is looked at every second while it is at a job, and no more after that", async () => {
  const { world, worker } = await resting();
  await using _ = world;
  await worker.ping();
  await world.pass(1);
  const job = await world.submit();
  expect((await worker.take())?.id).toBe(job);
  expect(await looks(world, 3)).toEqual([1, 2, 3]);
  await worker.done(job);
  await world.pass(1);
  expect(await looks(world, 3)).toEqual([]);
});

test("a worker that works on a cancelled job is found at once, although it was at rest before", async () => {
  const { world, worker } = await resting();
  await using _ = world;
  await worker.ping();
  await world.pass(1);
  const job = await world.submit();
  await worker.take();
  await world.call("POST", `/v2/${world.endpoint}/cancel/${job}`);
  await world.pass(1);
  expect(await hindranceOf(world, worker.id)).toBe("overrun");
});

test("a worker is looked at when its record changes, and ends with its release", async () => {
  const { world, worker } = await resting();
  await using _ = world;
  await worker.ping();
  await world.pass(1);
  const { workerRecords } = world.services;
  await workerRecords.update((await workerRecords.find(worker.id))!, { heldMb: 1 });
  expect(await looks(world, 3)).toEqual([1]);
  await world.change({ workers: { min: 0, max: 0 } });
  await world.pass(2);
  expect(world.running()).toEqual([]);
});

test("instances that are read again without a change stay the same objects, and nothing is gathered anew", async () => {
  const { world } = await resting();
  await using _ = world;
  const { workerRecords } = world.services;
  const before = await workerRecords.grouped();
  workerRecords.instances.forget();
  expect(await workerRecords.grouped()).toBe(before);
});
