/** Instant Clusters on a simulated machine: members are placed, kept and removed together. */
import { expect, test } from "vitest";
import { CPU_POD, type PodWorld, setupPods, TWO_GPUS } from "../../../../tests/pod-world.ts";
import type { FakeOptions } from "../../../ports/compute/fake-compute.ts";
import type { FakeInstance } from "../../../ports/compute/fake-instance.ts";
import { standardQuotas } from "../../account/quotas.ts";

const CLUSTER = {
  name: "train",
  type: "TRAINING",
  image: "host:/app",
  compute: { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 },
};

const manyGpus = (count: number) => ({
  capacity: { ...(TWO_GPUS.capacity as object), gpus: [{ type: "NVIDIA A40", count, virtual: false }] },
});

test("pages of Pods without members are full, and their cursors are for them alone", async () => {
  await using world = await setupPods({ machine: manyGpus(8) });
  const ids = [];
  for (const name of ["a", "b"]) {
    ids.push((await world.create({ ...CPU_POD, name })).id);
    await world.clock.advance(1000);
    await created(world, { ...CLUSTER, name: `c${name}` });
    await world.clock.advance(1000);
  }
  const list = (query: string) => world.call("GET", `/v2/pods?limit=1${query}`);
  const first = (await list("")).json;
  const cursor = `&cursor=${first.pagination.nextCursor}`;
  const second = (await list(`${cursor}&includeClusterPods=false`)).json;
  const found = [first, second].map(({ pods }) => pods.map(({ id }: { id: string }) => id));
  expect([found, second.pagination.hasNextPage]).toEqual([[[ids[1]], [ids[0]]], false]);
  const refused = await list(`${cursor}&includeClusterPods=true`);
  expect([refused.status, refused.json.errors[0]]).toEqual([422, expect.stringContaining("for other parameters")]);
});

/** The driver gives each network a range. */
const RANGED: FakeOptions = { ...TWO_GPUS, addresses: "of a range" };
async function created(world: PodWorld, body: object = CLUSTER) {
  const { status, json, text } = await world.call("POST", "/v2/clusters", { body });
  if (status !== 201) throw new Error(text);
  await world.settle();
  return json;
}

const cluster = async (world: PodWorld, id: string) => (await world.call("GET", `/v2/clusters/${id}`)).json;
const members = async (world: PodWorld, id: string) => (await world.call("GET", `/v2/clusters/${id}/pods`)).json.pods;
const rankOf = ({ spec }: FakeInstance) => Number(spec.env.NODE_RANK);
const programs = (world: PodWorld) => world.running().toSorted((a, b) => rankOf(a) - rankOf(b));

test("all members have their places before the answer, and then run with rank, address and each other's", async () => {
  await using world = await setupPods({ machine: RANGED });
  const { status, json } = await world.call("POST", "/v2/clusters", { body: CLUSTER });
  expect(status).toBe(201);
  expect(json).toMatchObject({ name: "train", type: "TRAINING", compute: CLUSTER.compute, pods: { total: 2 } });
  expect(json.actions).toEqual(["delete"]);
  expect(json).not.toHaveProperty("network");
  await world.settle();
  const after = await cluster(world, json.id);
  const pods = await members(world, json.id);
  expect(after.pods).toEqual({ total: 2, byStatus: { RUNNING: 2 } });
  expect(after.primary).toMatchObject({ podId: pods[0].id, status: "RUNNING" });
  const base = after.network.cidr.replace(".0/24", "");
  expect(pods.map(({ name, cluster }: { name: string; cluster: object }) => [name, cluster])).toEqual([
    ["train-0", { id: json.id, rank: 0, ip: `${base}.2` }],
    ["train-1", { id: json.id, rank: 1, ip: `${base}.3` }],
  ]);
  const common = {
    PRIMARY_ADDR: `${base}.2`,
    MASTER_ADDR: `${base}.2`,
    PRIMARY_PORT: "29500",
    MASTER_PORT: "29500",
    NUM_NODES: "2",
    NUM_TRAINERS: "1",
    HOST_NODE_ADDR: `${base}.2:29500`,
    WORLD_SIZE: "2",
    NCCL_SOCKET_IFNAME: "ens1",
  };
  expect(programs(world).map(({ spec }) => spec.env)).toMatchObject([
    { ...common, NODE_ADDR: `${base}.2`, NODE_RANK: "0", RANK: "0", RUNPOD_POD_ID: pods[0].id },
    { ...common, NODE_ADDR: `${base}.3`, NODE_RANK: "1", RANK: "1", RUNPOD_POD_ID: pods[1].id },
  ]);
});

test("members of a cluster whose name is as long as a name can be have names that are no longer", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const name = "é".repeat(191);
  const { id } = (await world.call("POST", "/v2/clusters", { body: { ...CLUSTER, name } })).json;
  const pods: { name: string }[] = await members(world, id);
  expect(pods.map((pod) => pod.name)).toEqual([`${name.slice(0, 189)}-0`, `${name.slice(0, 189)}-1`]);
});

test("several GPUs of a member are several trainers, whose ranks are not the member's", async () => {
  await using world = await setupPods({ machine: manyGpus(8) });
  await created(world, { ...CLUSTER, compute: { ...CLUSTER.compute, gpuCountPerPod: 4 } });
  const [first] = programs(world);
  expect(first!.spec.env).toMatchObject({ NUM_TRAINERS: "4", WORLD_SIZE: "8", NODE_RANK: "0" });
  expect(first!.spec.env).not.toHaveProperty("RANK");
});

test("what its owner says of a variable holds", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  await created(world, { ...CLUSTER, env: { MASTER_PORT: "4444", NCCL_SOCKET_IFNAME: "eth0" } });
  expect(programs(world)[1]!.spec.env).toMatchObject({ MASTER_PORT: "4444", NCCL_SOCKET_IFNAME: "eth0" });
});

test("where there is no room for all of them there is nothing, and the refusal says how many would find some", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const body = { ...CLUSTER, compute: { ...CLUSTER.compute, podCount: 3 } };
  const { status, json } = await world.call("POST", "/v2/clusters", { body });
  expect([status, json.detail]).toEqual([
    400,
    "No capacity: 2 of 3 would find room: needs 1x NVIDIA A40, 0 of 2 free.",
  ]);
  expect((await world.call("GET", "/v2/clusters")).json).toEqual({ clusters: [] });
  expect((await world.call("GET", "/v2/pods?includeClusterPods=true")).json.pods).toEqual([]);
  expect(world.started).toEqual([]);
});

test("members are Pods that a list shows when it is asked to, and nothing is done with one alone", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await created(world);
  const [, second] = await members(world, id);
  expect((await world.call("GET", "/v2/pods")).json.pods).toEqual([]);
  expect((await world.call("GET", "/v2/pods?includeClusterPods=true")).json.pods).toHaveLength(2);
  expect((await world.pod(second.id)).actions).toEqual([]);
  const refused = [
    await world.change(second.id, { name: "other" }),
    await world.call("DELETE", `/v2/pods/${second.id}`),
    ...(await Promise.all(["start", "stop", "restart", "terminate"].map((action) => world.act(second.id, action)))),
  ];
  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 409));
  expect(refused[0]!.json.detail).toContain(`rank 1 of cluster ${id}`);
  expect((await cluster(world, id)).pods.byStatus).toEqual({ RUNNING: 2 });
});

test("a member that dies is started again with its rank and address, and the others go on", async () => {
  await using world = await setupPods({ machine: RANGED });
  const { id } = await created(world);
  const [first, second] = programs(world);
  const address = (await members(world, id))[1].cluster.ip;
  second!.exit({ code: 1 });
  await world.settle();
  expect((await cluster(world, id)).pods.byStatus).toEqual({ RUNNING: 1, STARTING: 1 });
  await world.pass(2);
  const [stays, again] = programs(world);
  expect(stays).toBe(first);
  expect(again!.spec.env).toMatchObject({ NODE_RANK: "1", NODE_ADDR: address });
  expect((await members(world, id))[1].cluster.ip).toBe(address);
});

test("a member that fails again and again is never given up: nobody could start it alone", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await created(world);
  for (let failures = 0; failures < 12; failures++) {
    programs(world)[1]!.exit({ code: 1 });
    await world.pass(61);
  }
  expect((await cluster(world, id)).pods.byStatus).toEqual({ RUNNING: 2 });
});

test("deleting it ends all members and leaves nothing", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await created(world);
  expect((await world.call("DELETE", `/v2/clusters/${id}`)).status).toBe(204);
  expect((await world.call("GET", `/v2/clusters/${id}`)).status).toBe(404);
  expect((await world.call("GET", "/v2/pods?includeClusterPods=true")).json.pods).toEqual([]);
  await world.pass(12);
  expect(await world.compute.list()).toEqual([]);
  await created(world);
});

test("a server that dies in the middle of a deletion leaves it to the next", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await created(world);
  world.compute.fail("stop", new Error("away"));
  void world.call("DELETE", `/v2/clusters/${id}`).catch(() => {});
  await world.settle();
  await using next = await world.crash();
  next.compute.fail("stop", undefined);
  await next.pass(12);
  expect((await next.call("GET", "/v2/pods?includeClusterPods=true")).json.pods).toEqual([]);
  expect(await next.compute.list()).toEqual([]);
});

test("it goes on in the next process of the server, its members as they were", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await created(world);
  const before = await members(world, id);
  await using next = await world.crash();
  await next.settle();
  const after = await members(next, id);
  expect(after.map(({ status, cluster }: { status: string; cluster: object }) => [status, cluster])).toEqual(
    before.map(({ cluster }: { cluster: object }) => ["RUNNING", cluster]),
  );
});

test("after its machine was off all members run again, with the addresses that they had", async () => {
  await using world = await setupPods({ machine: RANGED });
  const { id } = await created(world);
  const before = (await members(world, id)).map((pod: { cluster: object }) => pod.cluster);
  await using next = await world.crash({ rebooted: "nothing left" });
  await next.pass(5);
  expect((await members(next, id)).map((pod: { cluster: object }) => pod.cluster)).toEqual(before);
  expect((await cluster(next, id)).pods.byStatus).toEqual({ RUNNING: 2 });
});

test("it is renamed, and nothing else of it changes", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await created(world);
  const patched = await world.call("PATCH", `/v2/clusters/${id}`, { body: { name: "other" } });
  expect([patched.status, patched.json.name]).toEqual([200, "other"]);
  for (const body of [{}, { type: "RAY" }, { compute: CLUSTER.compute }, { name: "" }])
    expect((await world.call("PATCH", `/v2/clusters/${id}`, { body })).status).toBe(422);
});

test.each([
  ["one member", { compute: { ...CLUSTER.compute, podCount: 1 } }, 422, "$.compute.podCount"],
  ["too many members", { compute: { ...CLUSTER.compute, podCount: 251 } }, 422, "$.compute.podCount"],
  ["no type", { type: undefined }, 422, "'type'"],
  ["a registry", { registry: null }, 422, "'registry'"],
  ["a GPU type that there is none of", { compute: { ...CLUSTER.compute, gpuTypeId: "x" } }, 400, "no GPU type 'x'"],
  ["a template beside an image", { templateId: "x" }, 400, "'templateId' excludes 'image'"],
  ["neither image nor template", { image: undefined }, 422, "'image'"],
  [
    "two kinds of mounts",
    { mounts: { persistent: { size: 10, path: "/w" }, network: [{ volumeId: "v", path: "/x" }] } },
    400,
    "not both",
  ],
])("%s is refused", async (_what, change, status, text) => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const answer = await world.call("POST", "/v2/clusters", { body: { ...CLUSTER, ...change } });
  expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(text)]);
});

test("a template gives everything, and the cluster says which it was", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const template = { name: "t", image: "host:/app", env: { A: "b" }, disk: 7 };
  const { id: templateId } = (await world.call("POST", "/v2/templates", { body: template })).json;
  const { image: _, ...rest } = CLUSTER;
  const { id, template: named } = await created(world, { ...rest, templateId });
  expect(named).toBe(templateId);
  expect((await members(world, id))[1]).toMatchObject({ env: { A: "b" }, disk: 7, template: templateId });
});

test("the quota counts every member, and all of them together", async () => {
  await using world = await setupPods({ machine: TWO_GPUS, quotas: { ...standardQuotas(1), pods: 1 } });
  const { status, json } = await world.call("POST", "/v2/clusters", { body: CLUSTER });
  expect([status, json.detail]).toEqual([403, expect.stringContaining("(quota 'pods'); 2 more would be too many")]);
});

test("members of a cluster of Ray or Slurm have roles, rank 0 the leading one", async () => {
  await using world = await setupPods({ machine: manyGpus(4) });
  for (const [type, roles] of [
    ["RAY", ["RAY_HEAD", "RAY_WORKER"]],
    ["SLURM", ["SLURM_CONTROLLER", "SLURM_COMPUTE"]],
  ] as const) {
    const { id } = await created(world, { ...CLUSTER, type });
    const pods: { cluster: { role: string } }[] = await members(world, id);
    expect(pods.map((pod) => pod.cluster.role)).toEqual(roles);
  }
});

test("a cluster takes 1 MiB to say; more is refused to those alone who may make one, with what is left of their limits", async () => {
  await using world = await setupPods({ machine: TWO_GPUS, rateLimits: "600,18000,200000" });
  const saying = (bytes: number) => ({
    ...CLUSTER,
    env: Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`A${i}`, "x".repeat(bytes / 10)])),
  });
  expect((await world.call("POST", "/v2/clusters", { body: saying(1_048_576), key: null })).status).toBe(401);
  const refused = await world.call("POST", "/v2/clusters", { body: saying(1_048_576) });
  expect([refused.status, refused.headers.has("ratelimit")]).toEqual([413, true]);
  const { status, json } = await world.call("POST", "/v2/clusters", { body: saying(1_000_000) });
  expect([status, json.detail]).toEqual([201, undefined]);
});
