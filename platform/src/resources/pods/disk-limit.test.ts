/** The container disk of a CPU Pod is limited per vCPU, on every surface. No Pod's disk exceeds that of its machine. */
import { expect, test } from "vitest";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { CPU_POD, GPU_POD, type PodWorld, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

const REASON = "is 21 GB, and a Pod with 2 vCPUs of 'cpu3c' has 20 GB at most.";

const v1 = (world: PodWorld, said: object) =>
  world.call("POST", "/v1/pods", { body: { imageName: "host:/app", computeType: "CPU", ...said } });

test("v2: more is refused with the limit, at creation and later", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { status, json } = await world.call("POST", "/v2/pods", { body: { ...CPU_POD, disk: 21 } });
  expect([status, json.detail]).toEqual([400, `'disk' ${REASON}`]);
  const { id } = await world.create({ ...CPU_POD, disk: 20 });
  const later = await world.change(id, { disk: 21 });
  expect([later.status, later.json.detail]).toEqual([400, `'disk' ${REASON}`]);
  expect((await world.change(id, { disk: 20 })).status).toBe(200);
  const large = await world.create({ ...CPU_POD, name: "large", cpu: { id: "cpu5c", vcpuCount: 8 }, disk: 120 });
  expect(large.disk).toBe(120);
  expect((await world.create({ ...GPU_POD, name: "gpu", disk: 500 })).disk).toBe(500);
});

test("v1: the default shrinks to the limit, and what is sent is refused beyond it", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const sizes = async (said: object) => (await v1(world, said)).json.containerDiskInGb;
  expect(await sizes({ name: "a", cpuFlavorIds: ["cpu3c"] })).toBe(20);
  expect(await sizes({ name: "b", cpuFlavorIds: ["cpu5c"], containerDiskInGb: null })).toBe(30);
  expect(await sizes({ name: "c", cpuFlavorIds: ["cpu5c"], vcpuCount: 8 })).toBe(50);
  expect(await sizes({ name: "d" })).toBe(20);
  const { status, text } = await v1(world, { name: "e", cpuFlavorIds: ["cpu3c"], containerDiskInGb: 21 });
  expect([status, text]).toEqual([400, expect.stringContaining(`'containerDiskInGb' ${REASON}`)]);
});

test("of several flavors those are left that allow what was sent", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { json } = await v1(world, { cpuFlavorIds: ["cpu3c", "cpu5c"], containerDiskInGb: 30 });
  expect([json.cpuFlavorId, json.containerDiskInGb]).toEqual(["cpu5c", 30]);
  const none = await v1(world, { name: "b", cpuFlavorIds: ["cpu3c", "cpu5c"], containerDiskInGb: 31 });
  expect(none.text).toContain("a Pod with 2 vCPUs of 'cpu5c' has 30 GB at most.");
});

test("what a template says shrinks as well, and what is sent beside it is judged", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const template = { name: "t", image: "host:/app", disk: 50 };
  const { json } = await world.call("POST", "/v2/templates", { body: template });
  const body = { name: "box", cpu: CPU_POD.cpu, templateId: json.id };
  expect((await world.create(body)).disk).toBe(20);
  expect((await world.call("POST", "/v2/pods", { body: { ...body, name: "b", disk: 21 } })).status).toBe(400);
  const { id } = await world.create({ ...CPU_POD, name: "c", disk: 10 });
  expect((await world.change(id, { templateId: json.id })).json.disk).toBe(20);
});

test("GraphQL: the same, in its own words", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const create = "mutation ($input: deployCpuPodInput) { deployCpuPod(input: $input) { id containerDiskInGb } }";
  const input = { name: "box", imageName: "host:/app", instanceId: "cpu3c-2-4" };
  const { message } = await refused(world, create, { input: { ...input, containerDiskInGb: 21 } });
  expect(message).toContain(`'containerDiskInGb' ${REASON}`);
  expect((await told(world, create, { input })).deployCpuPod.containerDiskInGb).toBe(20);
});

const GPUS = [{ type: "NVIDIA A40", count: 1, virtual: false }];

test("a Pod that runs gets no more disk than its machine has free, and others get only what it leaves", async () => {
  const capacity = { vcpu: 64, memoryMb: 262_144, diskGb: 100, ceilings: false, gpus: GPUS };
  await using world = await setupPods({ machine: { capacity } });
  const mounts = (size: number) => ({ persistent: { path: "/workspace", size } });
  const { id } = await world.create({ ...GPU_POD, disk: 10, mounts: mounts(20) });
  const refused = await world.change(id, { mounts: mounts(91) });
  const why = "The Pod's machine has no 71 GB of disk more for it: 70 GB are free.";
  expect([refused.status, refused.json.detail]).toEqual([400, why]);
  expect((await world.change(id, { mounts: mounts(85) })).status).toBe(200);
  await world.pass(3);
  expect(await world.pod(id)).toMatchObject({ status: "RUNNING", mounts: mounts(85) });
  const other = (disk: number) => world.call("POST", "/v2/pods", { body: { ...CPU_POD, name: "other", disk } });
  expect((await other(6)).status).toBe(400);
  expect((await other(5)).status).toBe(201);
  // A change that takes no more disk is never refused for it.
  expect((await world.change(id, { env: { A: "b" } })).status).toBe(200);
});
