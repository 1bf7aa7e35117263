/** What public clients of REST v1 send and read, client by client. */
import { describe, expect, test } from "vitest";
import { type PodWorld, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import { giveVolumesAPlace } from "../../../tests/volume-doc.ts";
import { setup, type World } from "../../../tests/world.ts";

const JSON_TYPE = { "content-type": "application/json" };
const CLI = { ...JSON_TYPE, "user-agent": "runpod-cli/2.0.0 (linux; amd64)" };
const isWhole = (record: Record<string, unknown>, ...names: string[]) =>
  names.every((name) => Number.isInteger(record[name]));

const post = (world: World, path: string, body: object, headers: Record<string, string> = JSON_TYPE) =>
  world.call("POST", `/v1/${path}`, { body, headers });

async function serverless(world: World): Promise<string> {
  const body = { name: "worker", imageName: "busybox:1", isServerless: true, containerDiskInGb: 10 };
  return (await post(world, "templates", body)).json.id;
}

const withGpus = () => setupPods({ machine: TWO_GPUS });

describe("runpodctl", () => {
  /** The body as this client sends it: ports and variables in REST's form, with fields that no contract has. */
  const POD = {
    ...{ name: "cli", imageName: "host:/app", gpuTypeIds: ["NVIDIA A40"], gpuCount: 1, cloudType: "SECURE" },
    ...{ containerDiskInGb: 20, volumeInGb: 20, volumeMountPath: "/workspace", ports: ["8888/http", "22/tcp"] },
    ...{ env: { A: "1" }, dockerArgs: "", minCudaVersion: "12.0", supportPublicIp: true, computeType: "GPU" },
  };

  /** The client decodes these into integers, lists and maps, and fails on anything else. */
  const expectDecodable = (pod: Record<string, unknown>) => {
    expect(isWhole(pod, "gpuCount", "volumeInGb", "containerDiskInGb", "memoryInGb", "vcpuCount")).toBe(true);
    expect([typeof pod.costPerHr, Array.isArray(pod.ports), typeof pod.env]).toEqual(["number", true, "object"]);
  };

  test("decodes a Pod from create, update and every action, each sent with a content type and no body", async () => {
    await using world = await withGpus();
    const created = await post(world, "pods", POD, CLI);
    expect(created.status).toBe(201);
    expectDecodable(created.json);
    await world.settle();
    const { id } = created.json;
    const updated = await world.call("PATCH", `/v1/pods/${id}`, { body: { name: "new" }, headers: CLI });
    expectDecodable(updated.json);
    for (const word of ["restart", "reset", "stop", "start"]) {
      await world.settle();
      const { status, json } = await world.call("POST", `/v1/pods/${id}/${word}`, { headers: CLI });
      expect([word, status, json.id]).toEqual([word, 200, id]);
      expectDecodable(json);
    }
    expect((await world.call("DELETE", `/v1/pods/${id}`, { headers: CLI })).status).toBe(204);
  });

  test("repeats the key of a filter that takes several", async () => {
    await using world = await withGpus();
    await post(world, "pods", POD, CLI);
    const find = async (query: string) => (await world.call("GET", `/v1/pods?${query}`)).json.length;
    expect(await find("gpuTypeId=NVIDIA+L4&gpuTypeId=NVIDIA+A40&dataCenterId=EU-RO-1&dataCenterId=US-KS-2")).toBe(1);
  });

  test("lists and changes endpoints with their templates and workers", async () => {
    await using world = await setup();
    const { id } = (await post(world, "endpoints", { templateId: await serverless(world), name: "e" })).json;
    const [listed] = (await world.call("GET", "/v1/endpoints?includeTemplate=true&includeWorkers=true")).json;
    expect(listed).toMatchObject({ id, template: { imageName: "busybox:1" }, workers: [] });
    const change = {
      name: "f",
      workersMin: 0,
      workersMax: 4,
      idleTimeout: 9,
      scalerType: "QUEUE_DELAY",
      scalerValue: 3,
      flashboot: true,
    };
    expect((await world.call("PATCH", `/v1/endpoints/${id}`, { body: change, headers: CLI })).json).toMatchObject(
      change,
    );
  });

  test("reads templates, volumes, registries and billing as bare arrays", async () => {
    await using world = await setup();
    const billing = ["pods", "endpoints", "networkvolumes"].map((what) => `billing/${what}?bucketSize=day`);
    for (const path of ["templates", "networkvolumes", "containerregistryauth", "pods", "endpoints", ...billing])
      expect([path, (await world.call("GET", `/v1/${path}`)).json]).toEqual([path, []]);
  });

  test("a CPU Pod with the volume that it sends by default has none", async () => {
    await using world = await withGpus();
    const { gpuTypeIds: _, gpuCount: __, ...rest } = POD;
    const body = { ...rest, computeType: "CPU", cpuFlavorIds: ["cpu3c"], vcpuCount: 2 };
    expect((await post(world, "pods", body, CLI)).json).toMatchObject({ gpuCount: 0, volumeInGb: 0, vcpuCount: 2 });
  });
});

describe("the Rust SDK reads nothing without its keys", () => {
  const POD = `id image desiredStatus consumerUserId machineId costPerHr adjustedCostPerHr vcpuCount memoryInGb containerDiskInGb
    volumeEncrypted ports env interruptible locked`;
  const ENDPOINT = `id userId templateId version computeType createdAt dataCenterIds executionTimeoutMs idleTimeout scalerType scalerValue
    workersMin workersMax`;
  const TEMPLATE = "id name imageName isPublic isRunpod isServerless containerDiskInGb volumeInGb volumeMountPath";
  const missing = (record: object, names: string) =>
    names
      .split(/\s+/)
      .filter(
        (name) =>
          (record as Record<string, unknown>)[name] === undefined || (record as Record<string, unknown>)[name] === null,
      );

  test.each([
    ["with GPUs", { gpuTypeIds: ["NVIDIA A40"] }],
    ["without", { computeType: "CPU" }],
  ])("a Pod %s, running and stopped", async (_kind, compute) => {
    await using world = await withGpus();
    const { id } = (await post(world, "pods", { name: "rs", imageName: "host:/app", ...compute })).json;
    await world.settle();
    for (const word of [undefined, "stop"]) {
      if (word) await world.call("POST", `/v1/pods/${id}/${word}`);
      const [pod] = (await world.call("GET", "/v1/pods?includeMachine=true")).json;
      expect([word, missing(pod, POD)]).toEqual([word, []]);
      expect(isWhole(pod, "vcpuCount", "memoryInGb", "containerDiskInGb")).toBe(true);
    }
  });

  test("an endpoint and its template, made through any surface", async () => {
    await using world = await setup();
    await post(world, "endpoints", { templateId: await serverless(world) });
    const body = {
      name: "v2",
      image: "busybox",
      cpu: [{ id: "cpu3c", vcpuCount: 2 }],
      scaling: { type: "QUEUE_DELAY", queueDelay: 0.5 },
    };
    await world.call("POST", "/v2/serverless", { body });
    const found = (await world.call("GET", "/v1/endpoints?includeTemplate=true")).json;
    expect(found).toHaveLength(2);
    for (const endpoint of found) {
      expect(missing(endpoint, ENDPOINT)).toEqual([]);
      expect(missing(endpoint.template, TEMPLATE)).toEqual([]);
      expect(isWhole(endpoint, "version", "executionTimeoutMs", "idleTimeout", "scalerValue", "workersMin")).toBe(true);
      expect(Array.isArray(endpoint.dataCenterIds)).toBe(true);
    }
  });

  test("templates that come with the server", async () => {
    await using world = await setup();
    for (const template of (await world.call("GET", "/v1/templates?includeRunpodTemplates=true")).json)
      expect(missing(template, TEMPLATE)).toEqual([]);
  });
});

describe("the Go SDK", () => {
  test("reads `message`, then `error`, and tells refusals apart by their status", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["secrets:read"] });
    for (const [status, options] of [
      [401, { key: "rpa_nothing" }],
      [403, { key }],
      [404, {}],
    ] as const) {
      const answer = await world.call("GET", "/v1/pods/aaaaaaaaaaaaaa", options);
      expect([answer.status, answer.json.status]).toEqual([status, status]);
      expect(answer.json.message).toBe(answer.json.error);
    }
  });

  test("resumes a Pod by a word of its own", async () => {
    await using world = await withGpus();
    const { id } = (await post(world, "pods", { imageName: "host:/app", computeType: "CPU" })).json;
    await world.settle();
    const stopped = await world.call("POST", `/v1/pods/${id}/stop`);
    expect(stopped.json.lastStatusChange).toMatch(/^Exited by /);
    await world.settle();
    expect((await world.call("POST", `/v1/pods/${id}/resume`)).json.desiredStatus).toBe("RUNNING");
  });
});

test("Flash finds a volume by its name, makes it once, and parses JSON even where it is refused", async () => {
  await using world = await setup();

  giveVolumesAPlace(world);
  const body = { name: "flash", size: 100, dataCenterId: "EU-RO-1" };
  const { json } = await post(world, "networkvolumes", body);
  const found = (await world.call("GET", "/v1/networkvolumes")).json;
  expect(found.filter(({ name }: { name: string }) => name === "flash")).toMatchObject([{ id: json.id, ...body }]);
  const refused = await post(world, "networkvolumes", { ...body, dataCenterId: "NOWHERE" });
  expect([refused.status, typeof refused.json.message]).toEqual([400, "string"]);
});

test("MCP 3.x forwards filters, and takes anything but a bare array for nothing", async () => {
  await using world = await withGpus();
  await post(world, "pods", { name: "mcp", imageName: "host:/app", gpuTypeIds: ["NVIDIA A40"], env: { A: "1" } });
  const query =
    "computeType=GPU&gpuTypeId=NVIDIA%20A40&dataCenterId=EU-RO-1&name=mcp&includeMachine=true&includeNetworkVolume=true";
  const { json } = await world.call("GET", `/v1/pods?${query}`);
  expect(json).toMatchObject([{ name: "mcp", machine: { gpuTypeId: "NVIDIA A40" } }]);
});

test.each(["true", "True", "TRUE"])("Python clients include the machine of a Pod by %s", async (yes) => {
  await using world = await withGpus();
  const { id } = (await post(world, "pods", { name: "py", imageName: "host:/app", gpuTypeIds: ["NVIDIA A40"] })).json;
  const { status, json } = await world.call("GET", `/v1/pods/${id}?includeMachine=${yes}&includeWorkers=False`);
  expect([status, json.machine.gpuTypeId]).toEqual([200, "NVIDIA A40"]);
});

test("Terraform asks for exactly 200, and wraps billing itself", async () => {
  await using world = await withGpus();
  const { id } = (await post(world, "pods", { name: "tf", imageName: "host:/app", computeType: "CPU" })).json;
  expect((await world.call("GET", `/v1/pods/${id}`)).status).toBe(200);
  expect(Array.isArray((await world.call("GET", "/v1/billing/pods?grouping=podId")).json)).toBe(true);
});

test("scripts change one field by POST, and read the image of an endpoint's template", async () => {
  await using world = await setup();
  const { id } = (await post(world, "endpoints", { templateId: await serverless(world) })).json;
  const { status, json } = await post(world, `endpoints/${id}/update`, { workersMin: 1 });
  expect([status, json.workersMin, json.workersMax]).toEqual([200, 1, 3]);
  const { template } = (await world.call("GET", `/v1/endpoints/${id}?includeTemplate=true`)).json;
  expect(template.imageName).toBe("busybox:1");
});

test("whoever was answered with a fault finds by its name what was made all the same", async () => {
  await using world: PodWorld = await withGpus();
  await post(world, "pods", { name: "job-7", imageName: "host:/app", gpuTypeIds: ["NVIDIA A40"] });
  expect((await world.call("GET", "/v1/pods?name=job-7")).json).toHaveLength(1);
});
