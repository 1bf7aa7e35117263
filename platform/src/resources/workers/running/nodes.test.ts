/** Several servers on one store and queue, each with its own machine: one plans, and each keeps its own workers. */
import { expect, test } from "vitest";
import { type FleetOptions, type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import { putWorker, workerDoc } from "../../../../tests/worker-doc.ts";
import { InterceptedStore } from "../../../../tests/world.ts";
import { FakeClock } from "../../../kernel/clock.ts";
import { InstanceRecords } from "../../../machines/instance-records.ts";
import { workerUrlsOfNodes } from "../../../machines/nodes.ts";
import { DriverAway } from "../../../ports/compute/compute.ts";
import { MemorySignals } from "../../../ports/signals/memory-signals.ts";
import { MemoryStore } from "../../../ports/store/memory-store.ts";
import { workerLifecycle } from "../model.ts";
import { WorkerRecords } from "../records.ts";

/** Two servers whose signals arrive at once, although the signals count as unreliable, so both also look for themselves. */
async function twoNodes(endpoint: FleetOptions["endpoint"]) {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const small = { capacity: { vcpu: 4 } };
  const first = await setupFleet({ signals, endpoint, machine: { ...small, name: "first" } });
  const second = await setupFleet({
    signals,
    store: first.store,
    found: first,
    endpoint: first.endpoint,
    machine: { ...small, name: "second" },
  });
  await first.pass(1);
  await second.settle();
  return {
    first,
    second,
    async pass(seconds: number) {
      for (let s = 0; s < seconds; s++) {
        await first.pass(1);
        await second.settle();
      }
    },
    async [Symbol.asyncDispose]() {
      await first[Symbol.asyncDispose]();
      await second[Symbol.asyncDispose]();
    },
  };
}

const busyAll = async (...nodes: FleetWorld[]) => {
  for (const node of nodes) for (const worker of node.running()) await worker.ping();
};

test("workers are spread over the machines, and never more than max in all", async () => {
  await using nodes = await twoNodes({ workers: { min: 3, max: 3 } });
  await nodes.pass(3);
  expect([nodes.first.running().length, nodes.second.running().length].toSorted()).toEqual([1, 2]);
  await busyAll(nodes.first, nodes.second);
  await nodes.pass(10);
  expect(nodes.first.started.length + nodes.second.started.length).toBe(3);
});

test("a job that comes to the node that does not plan starts a worker all the same", async () => {
  await using nodes = await twoNodes({});
  const job = await nodes.second.submit();
  await nodes.pass(1);
  const [worker] = [...nodes.first.running(), ...nodes.second.running()];
  expect((await worker!.take())?.id).toBe(job);
});

test("a worker is placed on the machine whose container engine is there, and the other machine says why it is not", async () => {
  await using nodes = await twoNodes({});
  nodes.first.compute.away = "the container engine does not answer";
  // The machine asks its engine at each beat.
  await nodes.pass(11);
  const listed = (await nodes.second.call("GET", "/v2/installation/machines")).json.machines;
  expect(Object.fromEntries(listed.map(({ id, away }: { id: string; away: unknown }) => [id, away]))).toEqual({
    first: ["host", "container"].map((images) => ({ images, reason: "the container engine does not answer" })),
    second: [],
  });
  const job = await nodes.first.submit();
  await nodes.pass(2);
  expect(nodes.first.started).toEqual([]);
  expect((await nodes.second.running()[0]!.take())?.id).toBe(job);
});

test("a worker that waits for its container engine is replaced by one on another machine", async () => {
  await using nodes = await twoNodes({ workers: { max: 2 } });
  const nobody = "the container engine does not answer";
  for (const { compute } of [nodes.first, nodes.second]) {
    compute.away = nobody;
    compute.fail("start", new DriverAway(nobody));
  }
  const job = await nodes.first.submit();
  await nodes.pass(11);
  const [waiting] = await nodes.first.records();
  expect(waiting).toMatchObject({ state: "PLACED", reason: { code: "engine-away" } });
  const there = waiting!.machine === "first" ? nodes.second : nodes.first;
  there.compute.away = undefined;
  there.compute.fail("start", undefined);
  await nodes.pass(12);
  expect((await there.running()[0]!.take())?.id).toBe(job);
  expect((await there.records()).filter(({ state }) => state === "PLACED")).toEqual([]);
});

test("a node that does not plan boots the new release of an endpoint", async () => {
  await using nodes = await twoNodes({ workers: { min: 4, max: 4 } });
  await nodes.pass(3);
  await busyAll(nodes.first, nodes.second);
  const before = [...nodes.first.running(), ...nodes.second.running()].map(({ id }) => id);
  await nodes.first.change({ env: { GREETING: "hello" } });
  await nodes.pass(10);
  for (const node of [nodes.first, nodes.second]) {
    expect(node.running().map(({ env }) => env.GREETING)).toEqual(["hello", "hello"]);
    expect(node.running().some(({ id }) => before.includes(id))).toBe(false);
  }
});

test("a frozen worker thaws for a job when another node than the planning one holds its machine", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const store = new MemoryStore();
  const both = { signals, store, machine: { name: "shared" } };
  const now = new FakeClock().now();
  await store.lease({ name: "machine shared", holder: "second", now, until: now + 60_000 });
  const endpoint = { flashboot: "FLASHBOOT", workers: { max: 1, idleTimeout: 2 } };
  await using first = await setupFleet({ ...both, nodeName: "first", endpoint });
  const beside = { found: first, beside: first.compute, endpoint: first.endpoint };
  await using second = await setupFleet({ ...both, ...beside, nodeName: "second" });
  const states = async () => (await second.compute.list()).map(({ state }) => state);
  const job = await first.submit();
  await first.pass(3);
  const [worker] = second.running();
  expect((await worker!.take())?.id).toBe(job);
  await worker!.done(job);
  await first.pass(6);
  expect(await states()).toEqual(["frozen"]);
  await first.submit();
  await first.pass(3);
  expect(await states()).toEqual(["running"]);
});

test("what another node's worker is doing is known: it ends when it is idle there", async () => {
  await using nodes = await twoNodes({
    workers: { max: 4, idleTimeout: 2 },
    scaling: { type: "QUEUE_DELAY", queueDelay: 1 },
  });
  const jobs = [];
  for (let i = 0; i < 4; i++) jobs.push(await nodes.first.submit());
  await nodes.pass(3);
  expect([nodes.first.running().length, nodes.second.running().length]).toEqual([2, 2]);
  for (const worker of [...nodes.first.running(), ...nodes.second.running()]) {
    const job = await worker.take();
    await worker.done(job!.id);
  }
  await nodes.pass(12);
  expect([nodes.first.running(), nodes.second.running()]).toEqual([[], []]);
});

test("a node that plans from now on knows the workers that the one before added in the same second", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const machine = (name: string, vcpu: number) => ({ name, capacity: { vcpu, ceilings: false } });
  const first = await setupFleet({ signals, endpoint: { workers: { max: 1 } }, machine: machine("first", 1) });
  const beside = { signals, store: first.store, found: first, endpoint: first.endpoint };
  await using second = await setupFleet({ ...beside, machine: machine("second", 4) });
  const third = await setupFleet({ ...beside, machine: machine("third", 4) });
  await first.pass(6);
  await first.clock.advance(500);
  // The second node has just read the instances, and does not know the new one. It would place another on its own machine.
  second.services.workerRecords.instances.forget();
  await second.records();
  await third.abandon();
  await first.submit();
  await first.settle();
  expect((await first.records()).map(({ machine }) => machine)).toEqual(["third"]);
  const left = first[Symbol.asyncDispose]();
  await second.settle();
  await second.pass(3);
  await left;
  expect((await second.records()).map(({ machine }) => machine)).toEqual(["third"]);
});

test("a planner that froze after its look adds no worker beside one that another planner added meanwhile", async () => {
  const store = new InterceptedStore();
  await using first = await setupFleet({ store, endpoint: { workers: { max: 1 } } });
  await first.pass(2);
  const another = new WorkerRecords({ store, instances: new InstanceRecords({ store, clock: first.clock }) });
  const doc = workerDoc({ owner: first.endpoint, state: workerLifecycle.begin("PLACED"), machine: "another" });
  store.beforeCommit = async (writes) => {
    if (!writes.some((write) => write.do === "insert" && write.record.kind === "instance")) return;
    store.beforeCommit = () => {};
    await putWorker(another, { id: "meanwhile", account: first.owner.account, createdAt: first.clock.now(), doc });
  };
  await first.submit();
  await first.settle();
  another.instances.forget();
  expect((await another.all()).map(({ id }) => id)).toEqual(["meanwhile"]);
  // That machine does not exist, so the next plan puts a worker in its place.
  await first.pass(3);
  expect(first.running()).toHaveLength(1);
});

test("when the planning node is gone another one plans, and the lost machine's workers are replaced", async () => {
  const nodes = await twoNodes({ workers: { min: 2, max: 2 } });
  await nodes.pass(2);
  await nodes.first.abandon();
  await using second = nodes.second;
  for (let s = 0; s < 60; s++) {
    await second.pass(1);
    if (s % 10 === 0) await busyAll(second);
  }
  expect(second.running()).toHaveLength(2);
  expect((await second.records()).map(({ machine }) => machine)).toEqual(["second", "second"]);
});

test("a job that comes to any node thaws the frozen worker of another one's machine", async () => {
  await using nodes = await twoNodes({ flashboot: "FLASHBOOT", workers: { idleTimeout: 2 } });
  const first = await nodes.second.submit();
  await nodes.pass(2);
  const of = (node: FleetWorld) => node.running().map((worker) => ({ node, worker }));
  const { node, worker } = [...of(nodes.first), ...of(nodes.second)][0]!;
  await worker.done((await worker.take())!.id);
  await nodes.pass(12);
  expect([worker.instance.view().state, (await node.status(first)).status]).toEqual(["frozen", "COMPLETED"]);
  const other = node === nodes.first ? nodes.second : nodes.first;
  const job = await other.submit();
  await nodes.pass(2);
  expect(worker.instance.view().state).toBe("running");
  expect((await worker.take())?.id).toBe(job);
});

test("whoever is no node learns where workers reach those that were heard of lately", async () => {
  await using nodes = await twoNodes({});
  const { store, clock } = nodes.first;
  const now = clock.now();
  expect((await workerUrlsOfNodes(store, now)).toSorted()).toEqual([nodes.first.url, nodes.second.url].toSorted());
  expect(await workerUrlsOfNodes(store, now + 60_000)).toEqual([]);
});
