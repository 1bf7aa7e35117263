/** Endpoints through REST v1. */
import { describe, expect, test } from "vitest";
import { giveVolumesAPlace } from "../../../tests/volume-doc.ts";
import { putWorker, workerDoc } from "../../../tests/worker-doc.ts";
import { setup } from "../../../tests/world.ts";

const ENDPOINTS = "/v1/endpoints";
const TYPES = ["NVIDIA L4", "NVIDIA A40", "NVIDIA RTX A5000"];

async function world() {
  const base = await setup();
  const template = async (more: object = {}) => {
    const body = { name: "t", imageName: "busybox:1", isServerless: true, env: { A: "1" }, ...more };
    return (await base.call("POST", "/v1/templates", { body })).json.id as string;
  };
  const templateId = await template();
  const post = (body: object) => base.call("POST", ENDPOINTS, { body });
  const made = async (more: object = {}) => (await post({ templateId, name: "e", ...more })).json;
  return { ...base, template, templateId, post, made };
}

describe("a new endpoint", () => {
  test("is made exactly as specified, and keeps its GPU types in their order", async () => {
    await using there = await world();
    const said = { name: "sd", gpuTypeIds: TYPES, workersMin: 1, workersMax: 5, idleTimeout: 7 };
    const { status, json } = await there.post({ ...said, templateId: there.templateId });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      ...said,
      ...{ id: expect.stringMatching(/^[a-z0-9]{14}$/), templateId: there.templateId, computeType: "GPU", version: 0 },
      ...{ userId: expect.any(String), createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/), dataCenterIds: [] },
      ...{ env: { A: "1" }, executionTimeoutMs: 600_000, scalerType: "QUEUE_DELAY", scalerValue: 4, gpuCount: 1 },
    });
    for (const absent of ["instanceIds", "networkVolumeId", "template", "workers"])
      expect(json).not.toHaveProperty(absent);
    expect((await there.call("GET", `${ENDPOINTS}/${json.id}`)).json).toEqual(json);
  });

  test("needs its template alone: its name is the template's, and all else as this API has it by default", async () => {
    await using there = await world();
    const { status, json } = await there.post({ templateId: there.templateId });
    expect([status, json]).toMatchObject([
      200,
      { name: "t", workersMin: 0, workersMax: 3, idleTimeout: 5, scalerType: "QUEUE_DELAY", scalerValue: 4 },
    ]);
    expect((await there.post({ name: "e" })).json.message).toContain("property 'templateId' is required");
    expect((await there.post({ templateId: "nothing" })).status).toBe(404);
  });

  test("without GPUs reads no GPU field", async () => {
    await using there = await world();
    const cpu = { computeType: "CPU", cpuFlavorIds: ["cpu3c", "cpu3g"], vcpuCount: 4, gpuTypeIds: TYPES, gpuCount: 2 };
    const json = await there.made(cpu);
    expect(json).toMatchObject({ computeType: "CPU", instanceIds: ["cpu3c-4-8", "cpu3g-4-16"], gpuCount: 0 });
    expect(json).not.toHaveProperty("gpuTypeIds");
    expect((await there.made({ name: "any", computeType: "CPU" })).instanceIds.length).toBeGreaterThan(2);
  });

  test("keeps an idle timeout beside a number of requests as it was sent", async () => {
    await using there = await world();
    const json = await there.made({ scalerType: "REQUEST_COUNT", scalerValue: 2, idleTimeout: 44 });
    expect(json).toMatchObject({ scalerType: "REQUEST_COUNT", scalerValue: 2, idleTimeout: 44 });
    const change = (body: object) => there.call("PATCH", `${ENDPOINTS}/${json.id}`, { body });
    expect((await change({ idleTimeout: 7 })).json.idleTimeout).toBe(7);
    expect((await change({ scalerType: "QUEUE_DELAY" })).json.idleTimeout).toBe(7);
    const unsaid = await there.made({ name: "unsaid", scalerType: "REQUEST_COUNT", scalerValue: 2 });
    expect(unsaid.idleTimeout).toBe(5);
  });

  test("takes a timeout of 0 for none said", async () => {
    await using there = await world();
    const { id, executionTimeoutMs } = await there.made({ executionTimeoutMs: 0 });
    expect(executionTimeoutMs).toBe(600_000);
    const change = (body: object) => there.call("PATCH", `${ENDPOINTS}/${id}`, { body });
    expect((await change({ executionTimeoutMs: 60_000 })).json.executionTimeoutMs).toBe(60_000);
    expect((await change({ executionTimeoutMs: 0, name: "n" })).json).toMatchObject({
      name: "n",
      executionTimeoutMs: 60_000,
    });
  });

  test("freezes its workers, or does not", async () => {
    await using there = await world();
    expect((await there.made({ flashboot: true })).flashboot).toBe(true);
    expect((await there.made({ name: "f" })).flashboot).toBe(false);
  });

  test.each([
    [{ networkVolumeId: "V" }, ["V"]],
    [{ networkVolumeIds: ["V"] }, ["V"]],
    [{ networkVolumeId: "V", networkVolumeIds: ["V"] }, ["V"]],
    [{ networkVolumeId: "" }, []],
  ])("mounts what %o names", async (said, found) => {
    await using there = await world();
    giveVolumesAPlace(there);
    const volume = { name: "v", size: 10, dataCenterId: "EU-RO-1" };
    const { id } = (await there.call("POST", "/v1/networkvolumes", { body: volume })).json;
    const { networkVolumeIds } = await there.made(JSON.parse(JSON.stringify(said).replaceAll('"V"', `"${id}"`)));
    expect(networkVolumeIds).toEqual(found.map(() => id));
  });

  test("has a name that no other one has; one that nobody gave gets a suffix", async () => {
    await using there = await world();
    await there.made();
    const taken = await there.post({ templateId: there.templateId, name: "e" });
    expect([taken.status, taken.json.message]).toEqual([400, expect.stringContaining("has the name 'e'")]);
    await there.post({ templateId: there.templateId });
    expect((await there.post({ templateId: there.templateId })).json.name).toMatch(/^t-[a-z0-9]{6}$/);
  });

  test.each([
    ["GPU types", { gpuTypeIds: ["Tesla T4", "NVIDIA A40", "House"] }, { gpuTypeIds: ["NVIDIA A40"] }],
    ["CPU flavors", { computeType: "CPU", cpuFlavorIds: ["cpu9x", "cpu3g"] }, { instanceIds: ["cpu3g-2-8"] }],
    ["data centers", { dataCenterIds: ["XX-1", "EU-RO-1"] }, { dataCenterIds: ["EU-RO-1"] }],
  ])("passes over unknown %s beside known ones, also in a change", async (_what, said, shown) => {
    await using there = await world();
    const { id, ...made } = await there.made(said);
    expect(made).toMatchObject(shown);
    const { status, json } = await there.call("PATCH", `${ENDPOINTS}/${id}`, { body: said });
    expect([status, json]).toEqual([200, { id, ...made }]);
  });

  test("takes the new enough versions of a list of CUDA versions next to a least one, also in a change", async () => {
    await using there = await world();
    const both = { allowedCudaVersions: ["12.9", "12.8", "12.1"], minCudaVersion: "12.8" };
    const { id, ...made } = await there.made(both);
    expect(made).toMatchObject({ allowedCudaVersions: ["12.9", "12.8"], minCudaVersion: null });
    const change = async (body: object) => (await there.call("PATCH", `${ENDPOINTS}/${id}`, { body })).json;
    expect(await change(both)).toEqual({ id, ...made });
    const none = { allowedCudaVersions: ["12.1"], minCudaVersion: "12.8" };
    expect((await change(none)).message).toContain("exclude each other");
  });

  test.each([
    ["a GPU type that there is not", { gpuTypeIds: ["House"] }, "There is no GPU type 'House'"],
    ["a data center that there is not", { dataCenterIds: ["XX-1"] }, "There is no data center 'XX-1'"],
    ["a CPU flavor that there is not", { cpuFlavorIds: ["cpu9x"] }, "There is no CPU flavor 'cpu9x'"],
    ["too few workers", { workersMin: 5, workersMax: 1 }, "'workersMin' is larger than 'workersMax'"],
    ["no timeout", { idleTimeout: 0 }, "$.idleTimeout"],
    ["no GPU", { gpuCount: 0 }, "$.gpuCount: must be >= 1"],
    ["a part of a second", { scalerValue: 0.5 }, "$.scalerValue"],
  ])("with %s is refused in words of this API", async (_what, said, why) => {
    await using there = await world();
    const { status, json } = await there.post({ templateId: there.templateId, ...said });
    expect([status, json.message]).toEqual([400, expect.stringContaining(why)]);
  });
});

describe("a change", () => {
  test.each(["PATCH ", "POST /update"])("of one field by %s is 200, and leaves all others", async (how) => {
    await using there = await world();
    const made = await there.made({ gpuTypeIds: TYPES, flashboot: true, dataCenterIds: ["EU-RO-1"] });
    const [method, end] = how.split(" ") as [string, string];
    const change = (body: object) => there.call(method, `${ENDPOINTS}/${made.id}${end}`, { body });
    expect((await change({ workersMax: 9 })).json).toEqual({ ...made, workersMax: 9 });
    expect((await change({ name: "n", scalerValue: 7, flashboot: false })).json).toMatchObject({
      ...{ name: "n", flashboot: false, version: 0 },
    });
    expect((await change({ gpuTypeIds: ["NVIDIA A40"] })).json).toMatchObject({
      gpuTypeIds: ["NVIDIA A40"],
      version: 1,
    });
    expect((await change({ computeType: "CPU", cpuFlavorIds: ["cpu3c"] })).json).toMatchObject({ computeType: "GPU" });
    expect((await change({})).status).toBe(200);
  });

  test("says less than the record knows, and does not change it by that", async () => {
    await using there = await world();
    const { id } = await there.made();
    const fine = { scaling: { type: "QUEUE_DELAY", queueDelay: 0.5 }, flashboot: "PRIORITY_FLASHBOOT" };
    await there.call("PATCH", `/v2/serverless/${id}`, { body: fine });
    const { json } = await there.call("PATCH", `${ENDPOINTS}/${id}`, {
      body: { scalerValue: 1, flashboot: true, workersMax: 4 },
    });
    expect(json).toMatchObject({ scalerValue: 1, flashboot: true });
    expect((await there.call("GET", `/v2/serverless/${id}`)).json).toMatchObject(fine);
  });

  test("of the flavors of one without GPUs keeps what is not said of them", async () => {
    await using there = await world();
    const { id } = await there.made({ computeType: "CPU", cpuFlavorIds: ["cpu3c"], vcpuCount: 2 });
    const change = async (body: object) => (await there.call("PATCH", `${ENDPOINTS}/${id}`, { body })).json.instanceIds;
    expect(await change({ vcpuCount: 4 })).toEqual(["cpu3c-4-8"]);
    expect(await change({ cpuFlavorIds: ["cpu3g"] })).toEqual(["cpu3g-4-16"]);
    expect(await change({ gpuCount: 3 })).toEqual(["cpu3g-4-16"]);
  });
});

describe("its template", () => {
  test("is shown where it is asked for, and an edit of it reaches the endpoint", async () => {
    await using there = await world();
    const { id } = await there.made();
    const read = async () => (await there.call("GET", `${ENDPOINTS}/${id}?includeTemplate=true`)).json;
    expect(await read()).toMatchObject({ version: 0, template: { id: there.templateId, imageName: "busybox:1" } });
    await there.call("PATCH", `/v1/templates/${there.templateId}`, {
      body: { imageName: "busybox:2", env: { B: "2" } },
    });
    expect(await read()).toMatchObject({ version: 1, env: { B: "2" }, template: { imageName: "busybox:2" } });
    await there.call("PATCH", `/v2/templates/${there.templateId}`, { body: { image: "busybox:3" } });
    expect((await there.call("GET", `/v2/serverless/${id}`)).json.image).toBe("busybox:2");
  });

  test("is its own configuration for one that was made through REST v2", async () => {
    await using there = await world();
    const body = { name: "v2", image: "busybox:9", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const { id } = (await there.call("POST", "/v2/serverless", { body })).json;
    const { json } = await there.call("GET", `${ENDPOINTS}?includeTemplate=true`);
    expect(json).toMatchObject([{ id, templateId: id, template: { id, imageName: "busybox:9", isServerless: true } }]);
    expect((await there.call("GET", `/v1/templates/${id}`)).json).toMatchObject({ imageName: "busybox:9" });
    const names = async (query: string) =>
      (await there.call("GET", `/v1/templates${query}`)).json.map(({ id }: { id: string }) => id);
    expect(await names("")).not.toContain(id);
    expect(await names("?includeEndpointBoundTemplates=true")).toContain(id);
    await there.call("PATCH", `/v1/templates/${id}`, { body: { imageName: "busybox:10" } });
    expect((await there.call("GET", `/v2/serverless/${id}`)).json.image).toBe("busybox:10");
    expect((await there.call("DELETE", `/v1/templates/${id}`)).status).toBe(400);
  });
});

test("a key that may not read templates sees of one what the endpoint shows itself, and nothing else", async () => {
  await using there = await world();
  const templateId = await there.template({ name: "secretive", readme: "not for them" });
  const { id } = await there.made({ name: "r", templateId });
  const read = async (key: string) =>
    (await there.call("GET", `${ENDPOINTS}/${id}?includeTemplate=true`, { key })).json.template;
  const shown = { id: templateId, imageName: "busybox:1", env: { A: "1" } };
  expect(await read(await there.newKey({ scopes: ["serverless:read"] }))).toMatchObject({ ...shown, readme: "" });
  expect(await read(await there.newKey({ endpoints: [id] }))).toMatchObject({ ...shown, readme: "" });
  expect(await read(await there.newKey())).toMatchObject({ ...shown, readme: "not for them" });
});

test("a list is a bare array, the newest first", async () => {
  await using there = await world();
  const first = await there.made();
  await there.clock.advance(1);
  const second = await there.made({ name: "f" });
  expect((await there.call("GET", ENDPOINTS)).json).toEqual([second, first]);
});

test("workers are shown as Pods where they are asked for, with all that strict clients read", async () => {
  await using there = await world();
  const { id } = await there.made();
  const { account } = there.owner;
  const doc = workerDoc({ owner: id, state: "READY", image: "busybox:1", machine: "m1", vcpu: 4, memoryMb: 8192 });
  const gpu = { gpuType: "NVIDIA L4", gpuCount: 1, startedAt: there.clock.now(), release: 1 };
  await putWorker(there.services.workerRecords, { id: "w1", account, createdAt: 0, doc: { ...doc, ...gpu } });
  const { json } = await there.call("GET", `${ENDPOINTS}/${id}?includeWorkers=true`);
  expect(json.workers).toMatchObject([
    {
      ...{
        id: "w1",
        name: "e",
        image: "busybox:1",
        desiredStatus: "RUNNING",
        endpointId: id,
        aiApiId: id,
        slsVersion: 0,
      },
      ...{
        machineId: "m1",
        vcpuCount: 4,
        memoryInGb: 8,
        gpuCount: 1,
        gpu: { id: "NVIDIA L4" },
        consumerUserId: account,
      },
      ...{ volumeEncrypted: false, ports: expect.any(Array), env: { A: "1" }, interruptible: false, locked: false },
    },
  ]);
  expect(json.workers[0].costPerHr).toBeGreaterThan(0);
  const pods = async (query: string) =>
    (await there.call("GET", `/v1/pods?${query}`)).json.map(({ id }: { id: string }) => id);
  expect(await pods("")).toEqual([]);
  expect(await pods("includeWorkers=true")).toEqual(["w1"]);
  expect(await pods(`includeWorkers=true&endpointId=${id}`)).toEqual(["w1"]);
  expect(await pods("includeWorkers=true&endpointId=other")).toEqual([]);
  expect((await there.call("GET", "/v1/pods/w1?includeWorkers=true")).json).toMatchObject({ id: "w1" });
});

test("it is deleted with 204, and its template stays", async () => {
  await using there = await world();
  const { id } = await there.made();
  expect((await there.call("DELETE", `/v1/templates/${there.templateId}`)).status).toBe(400);
  expect((await there.call("DELETE", `${ENDPOINTS}/${id}`)).status).toBe(204);
  expect((await there.call("GET", `${ENDPOINTS}/${id}`)).status).toBe(404);
  expect((await there.call("GET", `/v1/templates/${there.templateId}`)).status).toBe(200);
});

test("a key that is narrowed to endpoints sees its own, and makes none", async () => {
  await using there = await world();
  const { id } = await there.made();
  await there.made({ name: "other" });
  const key = await there.newKey({ scopes: ["serverless:write"], endpoints: [id] });
  expect((await there.call("GET", ENDPOINTS, { key })).json.map(({ id }: { id: string }) => id)).toEqual([id]);
  expect((await there.call("PATCH", `${ENDPOINTS}/${id}`, { key, body: { workersMax: 2 } })).status).toBe(200);
  expect((await there.call("POST", ENDPOINTS, { key, body: { templateId: there.templateId } })).status).toBe(403);
});
