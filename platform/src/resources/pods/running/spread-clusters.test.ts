/** Clusters whose members are on the machines of two nodes: placed together, with one network, and kept when a machine is lost. */
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { type PodNodes, setupPodNodes } from "../../../../tests/pod-nodes.ts";
import type { PodWorld } from "../../../../tests/pod-world.ts";
import type { FakeOptions } from "../../../ports/compute/fake-compute.ts";
import { FakeWire } from "../../../ports/compute/fake-networks.ts";

const CLUSTER = {
  name: "train",
  type: "TRAINING",
  image: "host:/app",
  compute: { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 },
};
const SILENT_S = 16;

const ENDS = { first: "192.0.2.1", second: "192.0.2.2" };
const oneGpu = {
  ...{ vcpu: 32, memoryMb: 262_144, diskGb: 1000, ceilings: false },
  gpus: [{ type: "NVIDIA A40", count: 1, virtual: false }],
};

/** Two machines with one GPU each, which can share a network. */
function nodesWith(more: Partial<FakeOptions> = {}): Promise<PodNodes> {
  const wire = new FakeWire();
  return setupPodNodes((name) => {
    const cipher = { key: `key of ${name}`, port: 7423, inside: `fd00::${name.length}` };
    const end = { address: ENDS[name], port: 7424, mtu: 1500, trusts: [], cipher };
    const behaviour: FakeOptions["behaviour"] = (instance) => instance.listen(29_500, () => {});
    return { capacity: oneGpu, addresses: "of a range", spanning: { end }, wire, behaviour, ...more };
  });
}

async function created({ first, second }: PodNodes, body: object = CLUSTER) {
  const { status, json, text } = await first.call("POST", "/v2/clusters", { body });
  if (status !== 201) throw new Error(text);
  await first.pass(3);
  await second.settle();
  return json;
}

const cluster = async (world: PodWorld, id: string) => (await world.call("GET", `/v2/clusters/${id}`)).json;
const members = async (world: PodWorld, id: string) => (await world.call("GET", `/v2/clusters/${id}/pods`)).json.pods;
const only = (world: PodWorld) => world.running()[0]!;
const rankOf = (world: PodWorld) => Number(only(world).spec.env.NODE_RANK);

test("members that find no room on one machine are on two, reach each other, and see the same variables as ever", async () => {
  await using nodes = await nodesWith();
  const { first, second } = nodes;
  const { id } = await created(nodes);
  expect([first.running().length, second.running().length]).toEqual([1, 1]);
  expect([rankOf(first), rankOf(second)].toSorted()).toEqual([0, 1]);
  const shown = await cluster(second, id);
  const [zero, one] = ["2", "3"].map((last) => shown.network.cidr.replace("0/24", last));
  for (const world of [first, second])
    expect(only(world).spec.env).toMatchObject({
      ...{ MASTER_ADDR: zero, NODE_ADDR: rankOf(world) === 0 ? zero : one, NUM_NODES: "2", WORLD_SIZE: "2" },
    });
  expect(shown).toMatchObject({ pods: { byStatus: { RUNNING: 2 } }, network: { vxlanId: expect.any(Number) } });
  for (const world of [first, second])
    for (const host of [zero, one, "node-0", "node-1"])
      expect([host, world.compute.reaches(only(world), host, 29_500)]).toEqual([host, true]);
});

test("each machine is told where the other is, and who is there, encrypted as long as nobody trusts the network", async () => {
  await using nodes = await nodesWith();
  const { first, second } = nodes;
  const { id } = await created(nodes);
  const name = { account: first.owner.account, id };
  const [here, there] = [first, second].map((world) => world.compute.networks!.spanOf(name));
  expect(here).toMatchObject({ others: [{ address: ENDS.second, cipher: { key: "key of second" } }], mtu: 1350 });
  expect(there).toMatchObject({ others: [{ address: ENDS.first }], isEncrypted: true, number: here!.number });
  expect([...here!.elsewhere, ...there!.elsewhere].toSorted()).toEqual(["node-0", "node-1"]);
});

test("all or none: without room for the last member nothing is made", async () => {
  await using nodes = await nodesWith();
  const three = { ...CLUSTER, compute: { ...CLUSTER.compute, podCount: 3 } };
  const { status, json } = await nodes.first.call("POST", "/v2/clusters", { body: three });
  expect([status, json.detail]).toEqual([400, expect.stringContaining("2 of 3 would find room")]);
  expect((await nodes.first.call("GET", "/v2/pods?includeClusterPods=true")).json.pods).toEqual([]);
});

test("machines that can neither trust nor encrypt refuse it with what their operator can do", async () => {
  const end = { port: 7424, mtu: 1500, trusts: [], cannotEncrypt: "wg is not installed" };
  await using nodes = await setupPodNodes((name) => ({
    capacity: oneGpu,
    spanning: { end: { ...end, address: ENDS[name] } },
  }));
  const { status, json, headers } = await nodes.first.call("POST", "/v2/clusters", { body: CLUSTER });
  expect([status, headers.get("x-reason-code")]).toEqual([400, "cluster-unencrypted"]);
  expect(json.detail).toContain("wg is not installed");
});

test("a range that one machine cannot give is given by none: they agree on another before a member starts", async () => {
  await using nodes = await nodesWith();
  const { first, second } = nodes;
  const isOdd = (range: string, part: number) => Number(range.split(".")[part]) % 2 === 1;
  first.compute.networks!.strangers.has = (range) => isOdd(range, 1);
  second.compute.networks!.strangers.has = (range) => isOdd(range, 2);
  const { id } = await created(nodes);
  await first.pass(5);
  const { network, pods } = await cluster(first, id);
  expect(pods.byStatus).toEqual({ RUNNING: 2 });
  expect([isOdd(network.cidr, 1), isOdd(network.cidr, 2)]).toEqual([false, false]);
  for (const world of [first, second]) expect(world.compute.reaches(only(world), "node-0", 29_500)).toBe(true);
});

test("a member waits, and says for what, until the other machine has made its part", async () => {
  await using nodes = await nodesWith();
  const { first, second } = nodes;
  await second.abandon();
  const { id } = (await first.call("POST", "/v2/clusters", { body: CLUSTER })).json;
  await first.pass(3);
  expect(first.running()).toEqual([]);
  const waiting = (await members(first, id)).filter(
    ({ statusReasonCode }: { statusReasonCode: string }) => statusReasonCode === "network-forming",
  );
  expect(waiting).toHaveLength(1);
  await using back = await second.crash();
  await back.pass(3);
  expect((await cluster(first, id)).pods.byStatus).toEqual({ RUNNING: 2 });
});

test("when a machine is lost its member says so, the other goes on, and all is as before when it is back", async () => {
  const nodes = await nodesWith();
  const { first, second } = nodes;
  const { id } = await created(nodes);
  const [before, running] = [await members(first, id), only(first)];
  const lost = rankOf(second);
  await using back = await second.crash({ meanwhile: () => first.pass(SILENT_S) });
  await first.pass(2);
  expect((await cluster(first, id)).pods.byStatus).toEqual({ RUNNING: 2 });
  await back.abandon();
  await first.pass(SILENT_S);
  const [member] = (await members(first, id)).filter((_: object, rank: number) => rank === lost);
  expect(member).toMatchObject({ status: "STARTING", statusReasonCode: "machine-silent" });
  expect((await cluster(first, id)).pods.byStatus).toEqual({ RUNNING: 1, STARTING: 1 });
  expect(only(first)).toBe(running);
  await using again = await back.crash({ rebooted: "nothing left" });
  await first.pass(3);
  const clusterOf = (pods: { cluster: object }[]) => pods.map((pod) => pod.cluster);
  expect(clusterOf(await members(first, id))).toEqual(clusterOf(before));
  expect(again.compute.reaches(only(again), `node-${1 - lost}`, 29_500)).toBe(true);
  await first[Symbol.asyncDispose]();
});

test("a machine whose address changed is told to the others", async () => {
  const nodes = await nodesWith();
  const { first, second } = nodes;
  const { id } = await created(nodes);
  second.compute.networks!.moveTo("192.0.2.77");
  await first.pass(25);
  const name = { account: first.owner.account, id };
  expect(first.compute.networks!.spanOf(name)!.others).toMatchObject([{ address: "192.0.2.77" }]);
  await nodes[Symbol.asyncDispose]();
});

test("deleting it ends the members on both machines and leaves no network on either", async () => {
  await using nodes = await nodesWith();
  const { first, second } = nodes;
  const { id } = await created(nodes);
  expect((await second.call("DELETE", `/v2/clusters/${id}`)).status).toBe(204);
  await first.pass(12);
  for (const world of [first, second])
    expect([await world.compute.list(), await world.compute.networks!.list()]).toEqual([[], []]);
});

test("members of Slurm get the key of a controller on another machine", async () => {
  const inputs: string[] = [];
  const behaviour: FakeOptions["behaviour"] = (instance) => {
    instance.onExec = async (execution) => {
      const isSecret = execution.spec.cmd[2]!.startsWith("hostname");
      const input = await text(execution.input);
      if (!isSecret && execution.env.NODE_RANK === "1") inputs.push(input);
      await execution.write(isSecret ? "head\nc2VjcmV0\n" : "");
      execution.end({ code: isSecret || input !== "" || execution.env.NODE_RANK === "0" ? 0 : 75 });
    };
  };
  await using nodes = await nodesWith({ behaviour });
  await created(nodes, { ...CLUSTER, type: "SLURM" });
  await nodes.first.pass(12);
  expect(inputs.at(-1)).toBe("head\nc2VjcmV0\n");
});
