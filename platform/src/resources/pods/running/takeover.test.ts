/** Pods and clusters on a machine that two nodes share: when the node that holds it dies, the other finishes what was begun. */
import { expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import { GPU_POD, type PodWorld, type PodWorldOptions, setupPods } from "../../../../tests/pod-world.ts";
import type { Box } from "../../../ports/compute/compute.ts";
import type { FakeOptions } from "../../../ports/compute/fake-compute.ts";
import { MemoryLogs } from "../../../ports/logs/memory-logs.ts";
import { MemorySignals } from "../../../ports/signals/memory-signals.ts";

const box = (id: string): Box => ({
  ...{ id, vcpu: 8, memoryMb: 65_536, diskGb: 500, ceilings: false },
  gpus: [{ type: "NVIDIA A40", count: 1, virtual: false }],
});
const MACHINE: FakeOptions & { name: string } = {
  name: "cluster",
  isCluster: true,
  capacity: ["east", "west", "north"].map(box),
};
const FULL = "0 of 3 boxes have 2 free processors";
const CLUSTER = {
  name: "train",
  type: "TRAINING",
  image: "host:/app",
  compute: { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 },
};
/** Enough time for the machine's lease to expire and for the other node to take over and act. */
const TAKEOVER_S = 16;

/** The first node holds the machine. */
async function twoNodes(options: PodWorldOptions = {}): Promise<{ first: PodWorld; second: PodWorld }> {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const both = { ...options, signals, machine: MACHINE };
  const first = await setupPods({ ...both, nodeName: "node-a" });
  const found = { ...first, logs: new MemoryLogs() };
  const beside = { store: first.store, found, beside: first.compute };
  const second = await setupPods({ ...both, ...beside, nodeName: "node-b" });
  await first.pass(6);
  expect(await holderOf(second)).toBe("node-a");
  return { first, second };
}

const holderOf = async (world: PodWorld | FleetWorld): Promise<string> =>
  (await world.call("GET", "/v2/installation/machines")).json.machines[0].node;

/** The first node dies, and the second takes over the machine. */
async function taken({ first, second }: { first: PodWorld; second: PodWorld }): Promise<PodWorld> {
  await first.abandon();
  await second.pass(TAKEOVER_S);
  expect(await holderOf(second)).toBe("node-b");
  return second;
}

test("a Pod goes on as it is, and is stopped by the node that took over", async () => {
  const nodes = await twoNodes();
  const { id } = await nodes.first.create();
  const [program] = nodes.first.running();
  await using second = await taken(nodes);
  expect((await second.compute.list()).map((one) => [one.id, one.state])).toEqual([[program!.id, "running"]]);
  program!.write("still here\n");
  await second.settle();
  expect([(await second.pod(id)).status, await second.log(id)]).toEqual([
    "RUNNING",
    expect.arrayContaining(["still here"]),
  ]);
  expect((await second.act(id, "stop")).json.status).toBe("EXITED");
  await second.pass(2);
  expect(await second.compute.list()).toEqual([]);
});

test("a Pod that began in the second in which its node left goes on", async () => {
  const { first, second } = await twoNodes();
  await first.clock.advance(500);
  // The second node has just read the instances, and does not know the new one.
  second.services.instanceRecords.forget();
  await second.services.instanceRecords.all();
  await first.create();
  const [program] = first.running();
  const left = first[Symbol.asyncDispose]();
  await first.settle();
  await second.clock.advance(500);
  await second.pass(2);
  await left;
  await using _ = second;
  expect(await holderOf(second)).toBe("node-b");
  expect([program!.exited, second.running()]).toEqual([false, [program]]);
});

test("a Pod that was accepted and waited for room begins once, under the other node", async () => {
  const nodes = await twoNodes();
  nodes.first.compute.queue.holdFor(FULL);
  const { id } = await nodes.first.create();
  expect(await nodes.first.pod(id)).toMatchObject({ status: "STARTING", statusReason: FULL });
  await using second = await taken(nodes);
  expect(await second.pod(id)).toMatchObject({ status: "STARTING", statusReason: FULL });
  second.compute.queue.holdFor(undefined);
  await second.pass(2);
  expect([(await second.pod(id)).status, second.running().length]).toEqual(["RUNNING", 1]);
});

test("a Pod that was placed and never reached the driver is started by the other node", async () => {
  const nodes = await twoNodes();
  nodes.first.compute.hangsOnStart = true;
  const { id } = await nodes.first.create();
  expect(await nodes.first.compute.list()).toEqual([]);
  await using second = await taken(nodes);
  await second.pass(2);
  expect(await second.pod(id)).toMatchObject({ status: "RUNNING" });
  expect(second.running()).toHaveLength(1);
});

test("a stop that was begun is finished, and so is a deletion, with what was stored", async () => {
  const nodes = await twoNodes();
  const mounts = { persistent: { size: 10, path: "/workspace" } };
  const [stopped, deleted] = [await nodes.first.create(), await nodes.first.create({ ...GPU_POD, mounts })];
  nodes.first.compute.hangsOnStop = true;
  expect((await nodes.first.act(stopped.id, "stop")).json.status).toBe("EXITED");
  expect((await nodes.first.call("DELETE", `/v2/pods/${deleted.id}`)).status).toBe(204);
  expect(await nodes.first.compute.list()).toHaveLength(2);
  await using second = await taken(nodes);
  await second.pass(12);
  expect([await second.compute.list(), await second.compute.volumes!.list()]).toEqual([[], []]);
  expect(await second.pod(stopped.id)).toMatchObject({ status: "EXITED" });
  expect((await second.act(stopped.id, "start")).status).toBe(200);
  await second.pass(2);
  expect(await second.pod(stopped.id)).toMatchObject({ status: "RUNNING" });
});

test("a restart that was begun is finished with a program anew", async () => {
  const nodes = await twoNodes();
  const { id } = await nodes.first.create();
  const [before] = nodes.first.running();
  nodes.first.compute.hangsOnStop = true;
  await nodes.first.act(id, "restart");
  await using second = await taken(nodes);
  await second.pass(2);
  expect(await second.pod(id)).toMatchObject({ status: "RUNNING" });
  const [now, ...more] = second.running();
  expect([now === before, more]).toEqual([false, []]);
});

test("a program that failed while nobody held the machine is started again", async () => {
  const nodes = await twoNodes();
  const { id } = await nodes.first.create();
  await nodes.first.abandon();
  nodes.first.running()[0]!.exit({ code: 3 });
  await nodes.second.pass(TAKEOVER_S + 3);
  await using second = nodes.second;
  expect(await second.pod(id)).toMatchObject({ status: "RUNNING" });
  expect(await second.log(id)).toEqual([
    "[failed: exit 3, it wrote nothing; starts again in 1 s (1 of 6)]",
    "[starting again (1 of 6)]",
  ]);
  expect(second.running()).toHaveLength(1);
});

test("a cluster goes on with the addresses that its members know, and one that dies comes back to them", async () => {
  const nodes = await twoNodes();
  const { json } = await nodes.first.call("POST", "/v2/clusters", { body: CLUSTER });
  await nodes.first.settle();
  const before = nodes.first.running().map(({ spec }) => spec.env.NODE_ADDR);
  await using second = await taken(nodes);
  second
    .running()
    .find(({ spec }) => spec.env.NODE_RANK === "1")!
    .exit({ code: 1 });
  await second.pass(3);
  expect(
    second
      .running()
      .map(({ spec }) => spec.env.NODE_ADDR)
      .toSorted(),
  ).toEqual(before.toSorted());
  expect((await second.call("GET", `/v2/clusters/${json.id}`)).json.pods.byStatus).toEqual({ RUNNING: 2 });
});

test("a cluster whose deletion was begun is gone, with its network", async () => {
  const nodes = await twoNodes();
  const { json } = await nodes.first.call("POST", "/v2/clusters", { body: CLUSTER });
  await nodes.first.settle();
  nodes.first.compute.hangsOnStop = true;
  void nodes.first.call("DELETE", `/v2/clusters/${json.id}`).catch(() => {});
  await nodes.first.settle();
  expect(await nodes.first.compute.networks!.list()).toHaveLength(1);
  await using second = await taken(nodes);
  await second.pass(22);
  expect([await second.compute.list(), await second.compute.networks!.list()]).toEqual([[], []]);
});

test("a node that does not hold the machine gives nothing of it back, until it does", async () => {
  const nodes = await twoNodes();
  // The holder does not see the network, so only the other node could release it.
  nodes.first.compute.networks!.list = async () => [];
  const { networks } = nodes.second.compute;
  const left = { account: nodes.second.owner.account, id: "gone" };
  await networks!.reserve({ ...left, image: "host:/app", names: ["node-0"] });
  await nodes.first.pass(22);
  expect(await networks!.list()).toEqual([left]);
  await using _ = await taken(nodes);
  await nodes.second.pass(12);
  expect(await networks!.list()).toEqual([]);
});

test("a worker finishes its job under the other node, and the next job is another's to give", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const both = { signals, machine: MACHINE };
  const first = await setupFleet({ ...both, nodeName: "node-a" });
  const found = { ...first, logs: new MemoryLogs() };
  const beside = { found, store: first.store, endpoint: first.endpoint, beside: first.compute };
  await using second = await setupFleet({ ...both, ...beside, nodeName: "node-b" });
  await first.pass(6);
  const job = await first.submit();
  await first.pass(2);
  const [program] = first.running();
  expect((await program!.take())?.id).toBe(job);
  await first.abandon();
  await second.pass(TAKEOVER_S);
  expect(await holderOf(second)).toBe("node-b");
  const [same] = second.running();
  expect(same!.id).toBe(program!.id);
  expect(await same!.ping([job])).toBe(200);
  expect(await same!.done(job, { output: "whole" })).toBe(200);
  expect(await second.status(job)).toMatchObject({ status: "COMPLETED", output: "whole" });
  const next = await second.submit();
  expect((await same!.take())?.id).toBe(next);
  expect(await same!.done(next)).toBe(200);
});

test("a worker that was about to begin when its node died takes the job under the other one", async () => {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const both = { signals, machine: MACHINE };
  const first = await setupFleet({ ...both, nodeName: "node-a" });
  first.compute.queue.holdFor(FULL);
  const found = { ...first, logs: new MemoryLogs() };
  const beside = { found, store: first.store, endpoint: first.endpoint, beside: first.compute };
  await using second = await setupFleet({ ...both, ...beside, nodeName: "node-b" });
  await first.pass(6);
  const job = await first.submit();
  await first.pass(2);
  await first.abandon();
  await second.pass(TAKEOVER_S);
  expect((await second.status(job)).waitReason).toContain(FULL);
  second.compute.queue.holdFor(undefined);
  await second.pass(2);
  const [worker, ...more] = second.running();
  expect([more, (await worker!.take())?.id]).toEqual([[], job]);
  expect(await worker!.done(job)).toBe(200);
  expect((await second.status(job)).status).toBe("COMPLETED");
});
