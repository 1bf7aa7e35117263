/** Turning FlashBoot on or off does not replace any worker. */
import { expect, test } from "vitest";
import { type FleetWorld, type Program, setupFleet } from "../../../../tests/fleet-world.ts";

const FLASHBOOT = { flashboot: "FLASHBOOT", workers: { max: 3, idleTimeout: 2 } };
const flashboot = () => setupFleet({ endpoint: FLASHBOOT });
const stateOf = ({ instance }: Program) => instance.view().state;

async function doneJob(world: FleetWorld): Promise<void> {
  const job = await world.submit();
  await world.settle();
  const worker = world.running().at(-1)!;
  expect((await worker.take())?.id).toBe(job);
  await worker.done(job);
}

async function frozenWorker(world: FleetWorld): Promise<Program> {
  await doneJob(world);
  await world.pass(3);
  return world.running().at(-1)!;
}

test("an idle worker goes on when FlashBoot is switched on, and is frozen by it", async () => {
  await using world = await setupFleet({ endpoint: { workers: { max: 3, idleTimeout: 2 } } });
  await doneJob(world);
  await world.change({ flashboot: "FLASHBOOT" });
  await world.pass(3);
  expect([world.started.length, world.running().map(stateOf)]).toEqual([1, ["frozen"]]);
});

test("a frozen worker ends when FlashBoot is switched off, and says so", async () => {
  await using world = await flashboot();
  const worker = await frozenWorker(world);
  await world.change({ flashboot: "OFF" });
  await world.pass(1);
  expect([worker.instance.exited, await world.compute.list()]).toEqual([true, []]);
  expect(await world.log(world.started[0]!)).toContain("[ending: FlashBoot was switched off]");
});

test("a worker is kept last once the endpoint says so, from when it is frozen next", async () => {
  await using world = await flashboot();
  await doneJob(world);
  await world.change({ flashboot: "PRIORITY_FLASHBOOT" });
  await world.pass(3);
  const worker = world.running().at(-1)!;
  expect([world.started.length, stateOf(worker)]).toEqual([1, "frozen"]);
  expect((await world.record(worker.id))?.keptLast).toBe(true);
});
