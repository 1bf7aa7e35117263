/** Pods through the API, on a simulated machine. */
import { expect, test } from "vitest";
import { CPU_POD, GPU_POD, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import type { FakeInstance } from "../../ports/compute/fake-instance.ts";
import { standardQuotas } from "../account/quotas.ts";

test("a new Pod has its place before the answer, and then runs", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { status, json } = await world.call("POST", "/v2/pods", { body: GPU_POD });
  expect(status).toBe(201);
  expect(json).toMatchObject({ status: "PROVISIONING", runtime: null, gpu: { id: "NVIDIA A40", count: 1 } });
  await world.settle();
  expect(await world.pod(json.id)).toMatchObject({
    status: "RUNNING",
    statusReason: null,
    actions: ["stop", "restart", "terminate"],
    runtime: { uptime: 0 },
    cudaVersion: "12.8",
    dataCenterId: "EU-RO-1",
  });
});

test("without room it is refused with what it needs and what is free, and nothing of it is left", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  await world.create({ ...GPU_POD, gpu: { id: "NVIDIA A40", count: 2 } });
  const { status, json } = await world.call("POST", "/v2/pods", { body: GPU_POD });
  expect(status).toBe(400);
  expect(json.detail).toBe("No capacity: needs 1x NVIDIA A40, 0 of 2 free.");
  expect((await world.call("GET", "/v2/pods")).json.pods).toHaveLength(1);
});

test("stopping gives its GPUs back; starting waits for room in PROVISIONING and says so", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const both = { ...GPU_POD, gpu: { id: "NVIDIA A40", count: 2 } };
  const first = await world.create(both);
  expect((await world.act(first.id, "stop")).json).toMatchObject({
    status: "EXITED",
    statusReason: "stopped by its owner",
    statusReasonCode: "stopped-by-owner",
    actions: ["start", "terminate"],
    runtime: null,
    cost: 0,
  });
  const second = await world.create(both);
  expect((await world.act(first.id, "start")).json).toMatchObject({
    status: "PROVISIONING",
    statusReason: "no capacity: needs 2x NVIDIA A40, 0 of 2 free",
    statusReasonCode: "no-capacity",
    actions: ["stop", "terminate"],
  });
  await world.act(second.id, "stop");
  await world.pass(1);
  expect((await world.pod(first.id)).status).toBe("RUNNING");
});

test("where there is room, a start goes to STARTING at once", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  await world.act(id, "stop");
  expect((await world.act(id, "start")).json.status).toBe("STARTING");
  expect((await world.pod(id)).status).toBe("RUNNING");
});

test("an end with 0 is EXITED; its log stays", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const [program] = world.running();
  program!.write("done\n");
  program!.exit({ code: 0 });
  await world.settle();
  expect(await world.pod(id)).toMatchObject({
    status: "EXITED",
    statusReason: "its program ended by itself (exit 0)",
    statusReasonCode: "pod-ended",
  });
  expect(await world.log(id)).toContain("done");
  expect(await world.services.instanceRecords.all()).toEqual([]);
});

test("what it wrote is told also where it has ended before its driver says that it was started, at each of its starts", async () => {
  let starts = 0;
  const behaviour = (instance: FakeInstance) => {
    instance.write(`no model ${++starts}\n`);
    instance.exit({ code: 7 });
  };
  await using world = await setupPods({ machine: { behaviour } });
  const { id } = (await world.call("POST", "/v2/pods", { body: CPU_POD })).json;
  await world.settle();
  expect((await world.pod(id)).statusReason).toMatch(/^exit 7, last lines: no model 1; starts again/);
  await world.pass(2);
  expect(await world.log(id)).toEqual(expect.arrayContaining(["no model 1", "no model 2"]));
});

test("any other end restarts it with back-off, and is an ERROR after the brake", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  world.running()[0]!.write("no model\n");
  world.running()[0]!.exit({ code: 7 });
  await world.settle();
  expect(await world.pod(id)).toMatchObject({
    status: "STARTING",
    statusReason: "exit 7, last lines: no model; starts again in 1 s (1 of 6)",
    statusReasonCode: "program-ended",
  });
  await world.pass(2);
  expect((await world.pod(id)).status).toBe("RUNNING");
  // The program restarts on the same disk, so the instance stays the same.
  expect(new Set(world.started).size).toBe(1);
  for (let i = 0; i < 6; i++) {
    world.running()[0]!.exit({ code: 7 });
    await world.pass(2 ** (i + 1) + 1);
  }
  expect(await world.pod(id)).toMatchObject({ status: "ERROR", actions: ["start", "terminate"] });
  expect((await world.pod(id)).statusReasonCode).toBe("crash-loop");
  expect((await world.pod(id)).statusReason).toMatch(/^crash loop: exit 7.*started 6 times again$/);
  expect(await world.services.instanceRecords.all()).toEqual([]);
});

test("terminating answers without a body, and nothing is left", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create({ ...GPU_POD, mounts: { persistent: { size: 10, path: "/workspace" } } });
  expect(await world.compute.volumes!.list()).toEqual([{ id: `pod-${id}`, sizeGb: 10, sizeEnforced: true }]);
  const { status, text } = await world.act(id, "terminate");
  expect([status, text]).toEqual([204, ""]);
  expect((await world.call("GET", `/v2/pods/${id}`)).status).toBe(404);
  await world.pass(11);
  expect([await world.compute.list(), await world.compute.volumes!.list(), await world.log(id)]).toEqual([[], [], []]);
});

test("a change beyond the name restarts it, and says so; the name alone does not", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  await world.change(id, { name: "other" });
  expect(world.started).toHaveLength(1);
  expect((await world.change(id, { env: { A: "1" } })).json).toMatchObject({
    status: "STARTING",
    statusReason: "restarts: env changed",
    statusReasonCode: "restarts-for-change",
  });
  await world.settle();
  expect((await world.pod(id)).status).toBe("RUNNING");
  expect(world.running()[0]!.spec.env.A).toBe("1");
});

test("a locked Pod is neither stopped nor reset, and says so", async () => {
  await using world = await setupPods();
  const { id } = await world.create({ ...CPU_POD, locked: true });
  expect((await world.pod(id)).actions).toEqual(["restart", "terminate"]);
  expect(await world.act(id, "stop")).toMatchObject({ status: 409 });
  expect(await world.change(id, { env: { A: "1" } })).toMatchObject({ status: 409 });
  expect(await world.change(id, { locked: false, env: { A: "1" } })).toMatchObject({ status: 200 });
});

test("it outlives the server, and is started again after a reboot of its machine", async () => {
  await using first = await setupPods();
  const { id } = await first.create();
  const [ran] = first.running();
  await using second = await first.crash();
  expect(await second.pod(id)).toMatchObject({ status: "RUNNING" });
  expect(second.running().map((one) => one.id)).toEqual([ran!.id]);
  await using third = await second.crash({ rebooted: "nothing left" });
  await third.pass(2);
  expect((await third.pod(id)).status).toBe("RUNNING");
  expect(third.running()).toHaveLength(1);
  await using fourth = await third.crash({ rebooted: "all ended" });
  await fourth.pass(2);
  expect((await fourth.pod(id)).status).toBe("RUNNING");
});

test("a Pod's own key gets, stops and terminates that Pod alone", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const other = await world.create();
  const key = world.running()[0]!.spec.env.RUNPOD_API_KEY!;
  const asPod = (method: string, path: string, body?: object) => world.call(method, path, { key, body });
  expect((await asPod("GET", `/v2/pods/${id}`)).status).toBe(200);
  expect((await asPod("GET", `/v2/pods/${other.id}`)).status).toBe(404);
  expect((await asPod("GET", "/v2/pods")).status).toBe(403);
  expect((await asPod("PATCH", `/v2/pods/${id}`, { name: "x" })).status).toBe(403);
  expect((await asPod("POST", `/v2/pods/${id}/action`, { action: "restart" })).status).toBe(403);
  expect((await asPod("POST", `/v2/pods/${id}/action`, { action: "stop" })).status).toBe(200);
  await world.settle();
  expect((await asPod("GET", `/v2/pods/${id}`)).status).toBe(401);
});

test("the vCPU that come with a GPU count against the account's quota, at creation, in clusters and at a start", async () => {
  const quotas = { ...standardQuotas(2), vcpu: 10 };
  await using world = await setupPods({ machine: TWO_GPUS, quotas });
  const refused = expect.stringContaining("and may have 10 (quota 'vcpu')");
  const compute = { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 };
  const cluster = { name: "c", type: "TRAINING", image: "host:/app", compute };
  const members = await world.call("POST", "/v2/clusters", { body: cluster });
  expect([members.status, members.json.detail]).toEqual([403, refused]);
  const first = await world.create(GPU_POD);
  const { status, json } = await world.call("POST", "/v2/pods", { body: GPU_POD });
  expect([status, json.detail]).toEqual([403, refused]);
  await world.act(first.id, "stop");
  await world.create(GPU_POD);
  expect((await world.act(first.id, "start")).json).toMatchObject({ status: "PROVISIONING", statusReason: refused });
});

test("what an account may hold is a limit that is named: at creation a refusal, at a start a reason to wait", async () => {
  const quotas = { ...standardQuotas(2), gpus: 1 };
  await using world = await setupPods({ machine: TWO_GPUS, quotas });
  const first = await world.create(GPU_POD);
  const { status, json } = await world.call("POST", "/v2/pods", { body: GPU_POD });
  expect(status).toBe(403);
  expect(json.detail).toMatch(/^This account has 1 GPUs at once, and may have 1 \(quota 'gpus'\)/);
  await world.act(first.id, "stop");
  const second = await world.create(GPU_POD);
  expect((await world.act(first.id, "start")).json).toMatchObject({ status: "PROVISIONING" });
  expect((await world.pod(first.id)).statusReason).toMatch(/quota 'gpus'/);
  expect((await world.pod(first.id)).statusReasonCode).toBe("quota-reached");
  await world.act(second.id, "terminate");
  await world.pass(2);
  expect((await world.pod(first.id)).status).toBe("RUNNING");
});

test("a network volume must be the account's and where the Pod may be, is told to it, and stays when it goes", async () => {
  await using world = await setupPods();
  const volume = await world.call("POST", "/v2/network-volumes", {
    body: { name: "data", size: 10, dataCenter: "EU-RO-1" },
  });
  const network = [{ volumeId: volume.json.id, path: "/data" }];
  const refused = async (more: object) => {
    const { status, json } = await world.call("POST", "/v2/pods", { body: { ...CPU_POD, ...more } });
    return [status, json.detail];
  };
  const unknown = { mounts: { network: [{ volumeId: "nothing", path: "/data" }] } };
  expect(await refused(unknown)).toEqual([404, "network volume not found"]);
  expect(await refused({ mounts: { network }, dataCenterIds: ["US-KS-2"] })).toEqual([
    400,
    `Network volume '${volume.json.id}' is in EU-RO-1, which 'dataCenterIds' does not name.`,
  ]);
  const { id } = await world.create({ ...CPU_POD, mounts: { network } });
  const [program] = world.running();
  expect(program!.spec.mounts).toEqual([{ volume: volume.json.id, path: "/data" }]);
  expect(program!.spec.env.RUNPOD_VOLUME_ID).toBe(volume.json.id);
  const path = `/v2/network-volumes/${volume.json.id}`;
  expect(await world.call("DELETE", path)).toMatchObject({
    status: 400,
    json: { detail: expect.stringContaining(id) },
  });
  await world.act(id, "terminate");
  await world.pass(2);
  expect((await world.compute.volumes!.list()).map((one) => one.id)).toEqual([volume.json.id]);
  expect((await world.call("DELETE", path)).status).toBe(204);
});
