/** Networks of clusters: the driver reserves them before members start, all members see the same, and they go with the cluster. */
import { expect, test } from "vitest";
import { type PodWorld, setupPods, TWO_GPUS } from "../../../../tests/pod-world.ts";
import type { Box } from "../../../ports/compute/compute.ts";
import type { FakeOptions } from "../../../ports/compute/fake-compute.ts";
import type { FakeInstance } from "../../../ports/compute/fake-instance.ts";
import { StartRefused } from "../../../ports/compute/refusal.ts";
import { Collection } from "../../../ports/store/collection.ts";
import { clusters } from "../../clusters/model.ts";

const CLUSTER = {
  name: "train",
  type: "TRAINING",
  image: "host:/app",
  compute: { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 },
};

/** The driver gives each network a range. */
const RANGED: FakeOptions = { ...TWO_GPUS, addresses: "of a range" };
/** Members are known by name, and have addresses of the boxes that they run in. */
const BOXED: FakeOptions = {
  isCluster: true,
  capacity: ["east", "west"].map((id) => ({
    ...{ id, vcpu: 32, memoryMb: 262_144, diskGb: 1_000, ceilings: false },
    gpus: [{ type: "NVIDIA A40", count: 1, virtual: false }],
  })),
};
const SPARE: Box = { ...(BOXED.capacity as Box[])[0]!, id: "north" };

async function created(world: PodWorld) {
  const { status, json, text } = await world.call("POST", "/v2/clusters", { body: CLUSTER });
  if (status !== 201) throw new Error(text);
  await world.settle();
  return json;
}

const cluster = async (world: PodWorld, id: string) => (await world.call("GET", `/v2/clusters/${id}`)).json;
const members = async (world: PodWorld, id: string) => (await world.call("GET", `/v2/clusters/${id}/pods`)).json.pods;
const rankOf = ({ spec }: FakeInstance) => Number(spec.env.NODE_RANK);
const programs = (world: PodWorld) => world.running().toSorted((a, b) => rankOf(a) - rankOf(b));

test("a driver that knows addresses only when members run tells names before, and spreads members over boxes", async () => {
  await using world = await setupPods({
    machine: { ...BOXED, behaviour: (instance) => instance.listen(29_500, () => {}) },
  });
  const { id } = await created(world);
  const [first, second] = programs(world);
  expect(new Set([first, second].map((one) => one!.spec.box))).toEqual(new Set(["east", "west"]));
  const { MASTER_ADDR: master, NODE_ADDR: other } = second!.spec.env;
  expect([first!.spec.env.NODE_ADDR, first!.spec.env.MASTER_ADDR]).toEqual([master, master]);
  expect([master, other]).toEqual([expect.stringMatching(/^node-0\./), expect.stringMatching(/^node-1\./)]);
  expect([world.compute.reaches(second!, master!, 29_500), world.compute.reaches(first!, other!, 29_500)]).toEqual([
    true,
    true,
  ]);
  const seats = (await members(world, id)).map((pod: { cluster: object }) => pod.cluster);
  expect(seats).toMatchObject([{ ip: first!.address }, { ip: second!.address }]);
  expect(await cluster(world, id)).not.toHaveProperty("network");
});

test("a member that is started in another box has another address, and the name that the others know", async () => {
  await using world = await setupPods({ machine: { ...BOXED, capacity: [...(BOXED.capacity as Box[]), SPARE] } });
  const { id } = await created(world);
  const [, second] = programs(world);
  world.compute.loseBox(second!.spec.box!);
  await world.pass(16);
  const [first, again] = programs(world);
  expect(again!.spec.env).toMatchObject({ NODE_RANK: "1", NODE_ADDR: second!.spec.env.NODE_ADDR });
  expect(again!.address).not.toBe(second!.address);
  expect((await members(world, id))[1].cluster.ip).toBe(again!.address);
  expect(world.compute.networks!.reachedBy(first!, second!.spec.env.NODE_ADDR!)).toBe(again);
});

test("a member that is started again on its disk has another address too, and shows it", async () => {
  await using world = await setupPods({ machine: BOXED });
  const { id } = await created(world);
  const [first, second] = programs(world);
  second!.exit({ code: 1 });
  await world.pass(2);
  const [, again] = programs(world);
  expect([again!.id, again!.spec.env.NODE_ADDR]).toEqual([second!.id, second!.spec.env.NODE_ADDR]);
  expect(again!.address).not.toBe(second!.address);
  expect((await members(world, id))[1].cluster.ip).toBe(again!.address);
  expect(world.compute.networks!.reachedBy(first!, again!.spec.env.NODE_ADDR!)).toBe(again);
});

test("where no network can be reserved nothing of it runs, and the members say why", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  world.compute.fail("reserve", new StartRefused("no private range is free", { reason: "network-unavailable" }));
  const { id } = await created(world);
  expect(world.running()).toEqual([]);
  expect(await members(world, id)).toMatchObject([1, 2].map(() => ({ statusReasonCode: "network-unavailable" })));
});

test("what was reserved outlives every member and the server, and all of them come back to it", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await created(world);
  const before = programs(world).map(({ spec }) => spec.env.NODE_ADDR);
  await using next = await world.crash({ rebooted: "nothing left" });
  expect(await next.compute.networks!.list()).toEqual([{ account: world.owner.account, id }]);
  await next.pass(12);
  expect(programs(next).map(({ spec }) => spec.env.NODE_ADDR)).toEqual(before);
});

test("a cluster of an earlier release, which chose the range itself, has the same one from the driver", async () => {
  await using world = await setupPods({ machine: RANGED });
  const { id } = await created(world);
  await using next = await world.crash({
    rebooted: "nothing left",
    async meanwhile() {
      // That release asked no driver, and kept the range with the cluster.
      world.compute.networks!.forget();
      await new Collection(world.store, clusters).change(id, () => ({ set: { range: "10.77.88.0/24" } }));
    },
  });
  await next.pass(12);
  expect((await cluster(next, id)).network).toEqual({ cidr: "10.77.88.0/24" });
  expect(programs(next).map(({ spec }) => spec.env.NODE_ADDR)).toEqual(["10.77.88.2", "10.77.88.3"]);
});

test("where its range is somebody's by now, all members have addresses of another one, and the log says so", async () => {
  await using world = await setupPods({ machine: RANGED });
  const { id } = await created(world);
  const { network: before } = await cluster(world, id);
  await using next = await world.crash({
    rebooted: "nothing left",
    async meanwhile() {
      world.compute.networks!.forget();
      world.compute.networks!.strangers.add(before.cidr);
    },
  });
  await next.pass(12);
  const { network } = await cluster(next, id);
  expect(network.cidr).not.toBe(before.cidr);
  const master = network.cidr.replace("0/24", "2");
  expect(programs(next).map(({ spec }) => spec.env.MASTER_ADDR)).toEqual([master, master]);
  const lines = await Promise.all((await members(next, id)).map((pod: { id: string }) => next.log(pod.id)));
  expect(lines.flat()).toContain(`[its cluster has other addresses than before: ${network.cidr}]`);
});

test("the network goes with the cluster, also of a server that was killed after it had reserved one", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await created(world);
  const networks = () => world.compute.networks!.list();
  expect(await networks()).toEqual([{ account: world.owner.account, id }]);
  expect((await world.call("DELETE", `/v2/clusters/${id}`)).status).toBe(204);
  await world.pass(2);
  expect(await networks()).toEqual([]);
  // This is left when a cluster is deleted while a member starts.
  await world.compute.networks!.reserve({ account: world.owner.account, id, image: "host:/app", names: ["node-0"] });
  await using next = await world.crash();
  await next.pass(12);
  expect(await next.compute.networks!.list()).toEqual([]);
});
