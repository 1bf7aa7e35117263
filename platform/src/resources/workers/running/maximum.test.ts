/** An endpoint never has more workers than its maximum, also while two planners write at once. */
import { expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import { type GivenWorker, putWorker, workerDoc } from "../../../../tests/worker-doc.ts";
import { InterceptedStore } from "../../../../tests/world.ts";
import { InstanceRecords } from "../../../machines/instance-records.ts";
import { MemorySignals } from "../../../ports/signals/memory-signals.ts";
import type { Write } from "../../../ports/store/store.ts";
import { WorkerRecords } from "../records.ts";

/** A planner on another node, which writes at once what the test says. */
function anotherPlanner({ store, clock, endpoint, owner }: FleetWorld) {
  const records = new WorkerRecords({ store, instances: new InstanceRecords({ store, clock }) });
  return {
    put: (id: string, given: GivenWorker) => {
      const doc = workerDoc({ owner: endpoint, ...given });
      return putWorker(records, { id, account: owner.account, createdAt: clock.now(), doc });
    },
    remove: (id: string) => records.remove(id),
    async states() {
      records.instances.forget();
      return Object.fromEntries((await records.all()).map(({ id, doc }) => [id, doc.state]));
    },
  };
}

/** Does this before the first commit that changes instances in the given way. */
function before(store: InterceptedStore, isIt: (write: Write) => boolean, act: () => Promise<unknown>): void {
  store.beforeCommit = async (writes) => {
    if (!writes.some(isIt)) return;
    store.beforeCommit = () => {};
    await act();
  };
}

const isInsert = (write: Write) => write.do === "insert" && write.record.kind === "instance";
const isThaw = (write: Write) => write.do === "patch" && write.kind === "instance" && write.set.state === "READY";

test.each([
  ["that this plan forgets too", 3_600_000],
  ["that still count for this plan", 30_000],
])("another planner adds a worker and forgets failures %s: this one adds none", async (_, agoMs) => {
  const store = new InterceptedStore();
  await using world = await setupFleet({ store, endpoint: { workers: { max: 1 } } });
  await world.pass(2);
  const another = anotherPlanner(world);
  await another.put("failed", { state: "FAILED", failedAt: world.clock.now() - agoMs });
  world.services.workerRecords.instances.forget();
  before(store, isInsert, async () => {
    await another.remove("failed");
    await another.put("meanwhile", { state: "PLACED", machine: "another" });
  });
  await world.submit();
  await world.settle();
  expect(await another.states()).toEqual({ meanwhile: "PLACED" });
});

test("another planner adds a worker: a frozen one on another node's machine does not thaw", async () => {
  const store = new InterceptedStore();
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const endpoint = { flashboot: "FLASHBOOT", workers: { max: 1, idleTimeout: 2 } } as const;
  const machine = (name: string, vcpu: number) => ({ name, capacity: { vcpu, ceilings: false } });
  await using planning = await setupFleet({ store, signals, endpoint, machine: machine("first", 1) });
  const beside = { store, signals, found: planning, endpoint: planning.endpoint };
  await using second = await setupFleet({ ...beside, machine: machine("second", 4) });
  const pass = async (seconds: number) => {
    for (let s = 0; s < seconds; s++) {
      await planning.pass(1);
      await second.settle();
    }
  };
  await pass(2);
  const job = await planning.submit();
  await pass(2);
  const [worker] = second.running();
  await worker!.take();
  await worker!.done(job);
  await pass(4);
  const another = anotherPlanner(planning);
  expect(await another.states()).toEqual({ [worker!.id]: "FROZEN" });
  planning.services.workerRecords.instances.forget();
  before(store, isThaw, () => another.put("meanwhile", { state: "PLACED", machine: "another" }));
  await planning.submit();
  await planning.settle();
  expect(await another.states()).toEqual({ [worker!.id]: "FROZEN", meanwhile: "PLACED" });
});

test("a frozen worker that thaws takes the place of one that waited for room", async () => {
  const endpoint = { flashboot: "FLASHBOOT", workers: { max: 1, idleTimeout: 2 } } as const;
  await using world = await setupFleet({ endpoint });
  const job = await world.submit();
  await world.settle();
  const [worker] = world.running();
  await worker!.take();
  await worker!.done(job);
  await world.pass(4);
  const another = anotherPlanner(world);
  await another.put("waits", { state: "WANTED" });
  world.services.workerRecords.instances.forget();
  await world.submit();
  await world.settle();
  expect(await another.states()).toEqual({ [worker!.id]: "READY" });
});
