/** Pods in GraphQL: what holds for every client. */
import { expect, test } from "vitest";
import { ask } from "../../../tests/graphql.ts";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { CHEAP_AND_DEAR, GPU_POD, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import { saying } from "../../kernel/reason.ts";
import { sshUser } from "../../resources/ssh/logins.ts";

const CREATE = `mutation ($input: PodFindAndDeployOnDemandInput) { podFindAndDeployOnDemand(input: $input) {
  id name desiredStatus costPerHr adjustedCostPerHr machineId machine { id podHostId } runtime { ports { privatePort } } gpuCount
} }`;
const INPUT = { name: "box", imageName: "host:/app", gpuTypeId: "NVIDIA A40", gpuCount: 1 };
const one = (id: string, fields: string) => `{ pod(input: {podId: "${id}"}) { ${fields} } }`;

test("a new Pod has its machine at once, and no runtime before its program runs", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { podFindAndDeployOnDemand: made } = await told(world, CREATE, { input: { ...INPUT, ports: "22/tcp" } });
  expect(made).toMatchObject({ desiredStatus: "RUNNING", runtime: null, machineId: "machine", gpuCount: 1 });
  expect(made.machine).toEqual({ id: "machine", podHostId: expect.stringMatching(`^${made.id}-[0-9a-f]{8}$`) });
  await world.settle();
  expect((await told(world, one(made.id, "runtime { ports { privatePort } }"))).pod).toEqual({
    runtime: { ports: [{ privatePort: 22 }] },
  });
});

test("a Pod without ports has a list of none while it runs", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  expect((await told(world, one(id, "runtime { ports { ip } }"))).pod).toEqual({ runtime: { ports: [] } });
});

test("costs: compute while it runs, storage beside it, and nothing for compute when it is stopped", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { podFindAndDeployOnDemand: made } = await told(world, CREATE, {
    input: { ...INPUT, gpuCount: 2, cloudType: "SECURE" },
  });
  expect(made.costPerHr).toBeCloseTo(0.88);
  expect(made.adjustedCostPerHr).toBeGreaterThan(made.costPerHr);
  const stop = `mutation { podStop(input: {podId: "${made.id}"}) { costPerHr runtime { uptimeInSeconds } uptimeSeconds } }`;
  expect((await told(world, stop)).podStop).toEqual({ costPerHr: 0, runtime: null, uptimeSeconds: 0 });
});

test("one that cannot run is stopped as one that runs, since there is no ERROR here", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create(GPU_POD);
  await world.services.podRecords.change(id, () => ({
    move: "fail",
    set: { reason: saying("crash-loop", "exit 7"), instance: null },
    instance: { move: "end" },
  }));
  const stop = `mutation { podStop(input: {podId: "${id}"}) { id desiredStatus } }`;
  expect((await told(world, stop)).podStop).toEqual({ id, desiredStatus: "EXITED" });
  expect((await world.pod(id)).status).toBe("EXITED");
});

test("a resumed Pod may have another number of GPUs, and none at all", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create(GPU_POD);
  const resume = async (gpuCount: number) => {
    await told(world, `mutation { podStop(input: {podId: "${id}"}) { id } }`);
    await world.settle();
    const query = `mutation { podResume(input: {podId: "${id}", gpuCount: ${gpuCount}}) { id desiredStatus gpuCount } }`;
    return (await told(world, query)).podResume;
  };
  expect(await resume(0)).toEqual({ id, desiredStatus: "RUNNING", gpuCount: 0 });
  expect(await resume(2)).toEqual({ id, desiredStatus: "RUNNING", gpuCount: 2 });
});

test("a resume that finds no room fails at once, with what clients look for, and says why", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create({ ...GPU_POD, gpu: { id: "NVIDIA A40", count: 2 } });
  await world.act(id, "stop");
  await world.create({ ...GPU_POD, name: "other" });
  const error = await refused(world, `mutation { podResume(input: {podId: "${id}"}) { id } }`);
  expect(error.message).toContain("not enough free GPUs");
  expect(error.extensions).toMatchObject({ code: "SUPPLY_CONSTRAINT", reason: expect.stringContaining("1 of 2 free") });
  expect((await world.pod(id)).status).toBe("EXITED");
});

test("what costs more than the caller would pay is not there for them", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const error = await refused(world, CREATE, { input: { ...INPUT, deployCost: 0.1 } });
  expect(error).toMatchObject({
    message:
      "There are no longer any instances available with the requested specifications. Please refresh and try again.",
    extensions: { reason: "This costs 0.44 USD per hour, and 0.1 at most is to be paid." },
  });
  expect(
    (await told(world, CREATE, { input: { ...INPUT, deployCost: 0.44 } })).podFindAndDeployOnDemand.id,
  ).toBeDefined();
});

test.each([
  ["there is not", { gpuTypeId: "NVIDIA RTX 4090" }, "There is no GPU type 'NVIDIA RTX 4090'."],
  ["the cloud does not offer", { cloudType: "COMMUNITY" }, "'NVIDIA A40' is not offered in the COMMUNITY cloud"],
  ["the cloud has fewer of", { gpuCount: 99 }, "has at most"],
])("a GPU type that %s is answered as no room, so that clients try their next one", async (_what, said, why) => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const error = await refused(world, CREATE, { input: { ...INPUT, ...said } });
  expect(error).toMatchObject({
    message:
      "There are no longer any instances available with the requested specifications. Please refresh and try again.",
    extensions: { code: "SUPPLY_CONSTRAINT", meaning: "rule-broken", reason: expect.stringContaining(why) },
  });
});

test("a Pod that nobody named gets the name that REST v1 gives, with a suffix if it is taken", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { name: _, ...unnamed } = INPUT;
  const made = async (input: object) => (await told(world, CREATE, { input })).podFindAndDeployOnDemand.id;
  const names = [await world.pod(await made(unnamed)), await world.pod(await made({ ...unnamed, name: null }))];
  expect(names.map(({ name }) => name)).toEqual(["my pod", expect.stringMatching(/^my pod-[a-z0-9]{6}$/)]);
});

test("of several types the first with room is taken, in their order", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { gpuTypeId: _, ...rest } = INPUT;
  const input = { ...rest, gpuTypeIdList: ["Tesla T4", "NVIDIA L4", "NVIDIA A40"], minMemoryInGb: 2, minVcpuCount: 2 };
  const { podFindAndDeployOnDemand: made } = await told(world, CREATE, { input });
  expect((await told(world, one(made.id, "machine { gpuTypeId gpuType { id } }"))).pod.machine).toEqual({
    gpuTypeId: "NVIDIA A40",
    gpuType: { id: "NVIDIA A40" },
  });
});

test("beside a template, what is sent empty or as 0 leaves what the template has", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const template = { name: "t", image: "host:/app", disk: 33, env: { A: "b" }, ports: ["80/http"], args: "sleep 1" };
  const { json } = await world.call("POST", "/v2/templates", { body: template });
  const input = {
    ...INPUT,
    templateId: json.id,
    imageName: "",
    dockerArgs: "",
    ports: "",
    env: [],
    containerDiskInGb: 0,
  };
  const { podFindAndDeployOnDemand: made } = await told(world, CREATE, { input });
  expect((await told(world, one(made.id, "imageName dockerArgs ports containerDiskInGb env templateId"))).pod).toEqual({
    ...{ imageName: "host:/app", dockerArgs: "sleep 1", ports: "80/http", containerDiskInGb: 33, templateId: json.id },
    env: expect.arrayContaining(["A=b"]),
  });
});

test("CUDA versions may be listed, named as the only one or as the least, and in both ways at once", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const terms = async (said: object) => {
    const { podFindAndDeployOnDemand: made } = await told(world, CREATE, { input: { ...INPUT, ...said } });
    const { pod } = await told(world, one(made.id, "allowedCudaVersions minCudaVersion"));
    await told(world, `mutation { podTerminate(input: {podId: "${made.id}"}) }`);
    return [pod.allowedCudaVersions, pod.minCudaVersion];
  };
  expect(await terms({ allowedCudaVersions: [], minCudaVersion: "12.4" })).toEqual([[], "12.4"]);
  expect(await terms({ cudaVersion: "12.8" })).toEqual([["12.8"], null]);
  const older = await refused(world, CREATE, { input: { ...INPUT, cudaVersion: "12.1" } });
  expect(older.extensions.reason).toContain("needs CUDA 12.1, not 12.8");
  expect(await terms({ allowedCudaVersions: ["12.8", "11.8"], minCudaVersion: "12.4" })).toEqual([["12.8"], null]);
  const none = { ...INPUT, allowedCudaVersions: ["11.8"], minCudaVersion: "12.4" };
  expect((await refused(world, CREATE, { input: none })).message).toContain("exclude each other");
});

test("names are unique: a second Pod of one name is refused", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  await told(world, CREATE, { input: INPUT });
  expect((await refused(world, CREATE, { input: INPUT })).message).toContain("has the name 'box'");
});

test("unknown and foreign Pods: null where one is read, the literal message where one is terminated", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const stranger = { key: await world.strangersKey() };
  const read = await ask(world, one(id, "id"), stranger);
  expect(read.json).toEqual({ data: { pod: null } });
  const ended = await ask(world, `mutation { podTerminate(input: {podId: "${id}"}) }`, stranger);
  expect(ended.json).toMatchObject({
    errors: [{ message: "pod not found to terminate" }],
    data: { podTerminate: null },
  });
  expect((await told(world, "{ pod { id } }")).pod).toBeNull();
  expect((await world.pod(id)).status).toBe("RUNNING");
});

test("keys without the right are told so, and nothing happens", async () => {
  await using world = await setupPods();
  const { id } = await world.create();
  const readOnly = { key: await world.newKey({ scopes: ["read-only"] }) };
  expect((await ask(world, one(id, "id"), readOnly)).json).toEqual({ data: { pod: { id } } });
  const { json } = await ask(world, `mutation { podStop(input: {podId: "${id}"}) { id } }`, readOnly);
  expect(json.errors[0]).toMatchObject({ message: expect.stringContaining("Unauthorized"), path: ["podStop"] });
  const none = { key: await world.newKey({ scopes: ["secrets:read"] }) };
  const listed = await ask(world, "{ myself { id pods { id } } }", none);
  expect(listed.json).toMatchObject({ errors: [{ path: ["myself", "pods"] }], data: { myself: { pods: null } } });
});

test("what is done is in the audit log, under the names of REST's things", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { podFindAndDeployOnDemand: made } = await told(world, CREATE, { input: INPUT });
  await told(world, `mutation { podStop(input: {podId: "${made.id}"}) { id } }`);
  const { entries } = (await world.call("GET", "/v2/account/audit")).json;
  expect(entries.slice(0, 2)).toMatchObject([
    { operation: "podStop", action: "stop", resource: { type: "pods", id: made.id } },
    { operation: "podFindAndDeployOnDemand", resource: { type: "pods", id: made.id } },
  ]);
});

test.each([
  ["PodFindAndDeployOnDemandInput", "podFindAndDeployOnDemand", "interruptible: true"],
  ["deployCpuPodInput", "deployCpuPod", "volumeInGb: 10"],
])("%s has no other fields than clients know", async (type, field, extra) => {
  await using world = await setupPods();
  const { status, json } = await ask(world, `mutation { ${field}(input: {name: "a", ${extra}}) { id } }`);
  expect(status).toBe(400);
  expect(json.errors[0].message).toContain(`is not defined by type "${type}"`);
});

test("a text that is no instant is refused before anything is done", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { status } = await ask(world, CREATE, { variables: { input: { ...INPUT, stopAfter: "tomorrow" } } });
  expect(status).toBe(400);
  expect((await told(world, "{ myself { pods { id } } }")).myself.pods).toEqual([]);
});

test("podHostId is the name that logs in by SSH, over stop and start, and cpuType what a CPU Pod has", async () => {
  await using world = await setupPods();
  const input = { name: "small", imageName: "host:/app", instanceId: "cpu3c-2-4" };
  const create = "mutation ($input: deployCpuPodInput) { deployCpuPod(input: $input) { id machine { podHostId } } }";
  const { deployCpuPod: made } = await told(world, create, { input });
  const machine = "machine { podHostId cpuType { id displayName groupId cores threadsPerCore } }";
  const { pod } = await told(world, one(made.id, `endpoint { id } ${machine}`));
  const cpuType = { id: "cpu3c", displayName: "Compute-Optimized", groupId: "Gen 3", cores: 2, threadsPerCore: 1 };
  const podHostId = sshUser(made.id);
  expect(made.machine).toEqual({ podHostId });
  expect(pod).toEqual({ endpoint: null, machine: { podHostId, cpuType } });
  for (const action of ["Stop", "Resume"]) {
    const act = `mutation { pod${action}(input: {podId: "${made.id}"}) { machine { podHostId } } }`;
    expect((await told(world, act))[`pod${action}`].machine).toEqual({ podHostId });
  }
});

test.each([
  ["no image", { imageName: "" }, "property 'imageName' is required"],
  ["no compute", { gpuTypeId: "", gpuCount: null }, "Exactly one of 'gpuTypeId' and 'instanceId' must be set."],
  ["too many GPUs", { gpuCount: 2000 }, "$.gpuCount: must be <= 1024"],
  ["too small a disk", { containerDiskInGb: -1 }, "$.containerDiskInGb"],
  ["a country that is none", { countryCode: "Kansas" }, "$.countryCode[0]"],
  ["a volume of less than nothing", { volumeInGb: -5 }, "$.volumeInGb"],
])("a refusal of %s names the caller's own field", async (_what, said, message) => {
  await using world = await setupPods({ machine: TWO_GPUS });
  expect((await refused(world, CREATE, { input: { ...INPUT, ...said } })).message).toContain(message);
});

test("some number of GPUs of no type is that many of the cheapest that there is room for", async () => {
  await using world = await setupPods({ machine: CHEAP_AND_DEAR });
  const { gpuTypeId: _, ...any } = INPUT;
  const { podFindAndDeployOnDemand: made } = await told(world, CREATE, { input: { ...any, gpuCount: 1 } });
  expect((await world.pod(made.id)).gpu.id).toBe("NVIDIA RTX A4000");
});
