/** Updating an endpoint changes only the fields that were sent, under the same rules as its creation. */
import { describe, expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";

const ENDPOINTS = "/v2/serverless";
const CPU = { name: "n", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const GPU = { name: "n", image: "busybox", gpu: { pools: ["AMPERE_48"], excludedTypes: ["NVIDIA A40"] } };

async function endpoint(body: object = CPU) {
  const world = await setup();
  const made = (await world.call("POST", ENDPOINTS, { body })).json;
  const path = `${ENDPOINTS}/${made.id}`;
  const patch = (change: unknown) => world.call("PATCH", path, { body: change });
  const read = async () => (await world.call("GET", path)).json;
  const release = async () => (await world.services.endpoints.find(made.id))!.doc.release;
  return { world, made, path, patch, read, release, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

test("changes only the fields sent, and answers 200 with the whole record", async () => {
  await using at = await endpoint({ ...CPU, env: { A: "1" }, disk: 5 });
  const { status, json } = await at.patch({ name: "renamed", timeout: 6000 });
  expect([status, json]).toEqual([200, { ...at.made, name: "renamed", timeout: 6000 }]);
  expect(await at.read()).toEqual(json);
});

test.each([
  ["type", { type: "QUEUE" }],
  ["id", { id: "x" }],
  ["createdAt", { createdAt: "2026-01-01T00:00:00Z" }],
  ["bogus", { bogus: 1, name: "renamed" }],
])("422: '%s' cannot be changed, and nothing is", async (name, change) => {
  await using at = await endpoint();
  const { status, json } = await at.patch(change);
  expect([status, json.errors]).toEqual([422, [`$: additional properties '${name}' not allowed`]]);
  expect(await at.read()).toEqual(at.made);
});

test.each([
  ["nothing", {}],
  ["what is so already", { name: CPU.name, image: CPU.image, env: {}, workers: {}, timeout: 300_000 }],
])("a change to %s answers 200 with the unchanged record, and writes nothing", async (_what, change) => {
  await using at = await endpoint();
  const kept = () => at.world.store.get("endpoint", at.made.id);
  const before = await kept();
  const { status, json } = await at.patch(change);
  expect([status, json]).toEqual([200, at.made]);
  expect(await kept()).toEqual(before);
  expect(await at.release()).toBe(1);
});

test("404: nothing to change of an endpoint that is not there, or another account's", async () => {
  await using at = await endpoint();
  const key = await at.world.strangersKey();
  expect((await at.world.call("PATCH", at.path, { body: {}, key })).status).toBe(404);
  expect((await at.world.call("PATCH", `${ENDPOINTS}/aaaaaaaaaaaaaa`, { body: {} })).status).toBe(404);
});

test("404: a template or registry that does not exist", async () => {
  await using at = await endpoint();
  expect((await at.patch({ templateId: "nothing" })).json.detail).toBe("template not found");
  expect((await at.patch({ registry: { id: "nothing" } })).json.detail).toBe("registry not found");
  expect((await at.patch({ registry: null })).json.registry).toBeNull();
});

test("env replaces the whole of it", async () => {
  await using at = await endpoint({ ...CPU, env: { A: "1", B: "2" } });
  expect((await at.patch({ env: { C: "3" } })).json.env).toEqual({ C: "3" });
});

test("workers change one by one, and are held against each other", async () => {
  await using at = await endpoint({ ...CPU, workers: { min: 1, max: 2 } });
  expect((await at.patch({ workers: { max: 5 } })).json.workers).toEqual({ min: 1, max: 5, idleTimeout: 10 });
  const { status, json } = await at.patch({ workers: { min: 6 } });
  expect([status, json.detail]).toEqual([400, "'workers.min' is larger than 'workers.max'."]);
});

test("an idle time survives a while of scaling by requests, and cannot be set in it", async () => {
  await using at = await endpoint({ ...CPU, workers: { idleTimeout: 99 } });
  const byRequests = await at.patch({ scaling: { type: "REQUEST_COUNT", requestCount: 1 } });
  expect(byRequests.json.workers).toEqual({ min: 0, max: 3 });
  expect((await at.patch({ workers: { idleTimeout: 5 } })).status).toBe(400);
  const byDelay = await at.patch({ scaling: { type: "QUEUE_DELAY", queueDelay: 1 } });
  expect(byDelay.json.workers.idleTimeout).toBe(99);
});

test("422: a load balancer cannot turn to the delay of a queue", async () => {
  await using at = await endpoint({ ...CPU, type: "LOAD_BALANCER" });
  const { status, json } = await at.patch({ scaling: { type: "QUEUE_DELAY", queueDelay: 1 } });
  expect([status, json.errors]).toEqual([
    422,
    ["$.scaling: a LOAD_BALANCER endpoint takes REQUEST_COUNT scaling only"],
  ]);
});

describe("compute", () => {
  test.each([
    ["CPU", CPU, { gpu: { pools: ["ADA_24"] } }, "This is a CPU endpoint; its compute cannot become GPU."],
    ["GPU", GPU, { cpu: CPU.cpu }, "This is a GPU endpoint; its compute cannot become CPU."],
    ["GPU", GPU, { gpu: GPU.gpu, cpu: CPU.cpu }, "This is a GPU endpoint; its compute cannot become CPU."],
  ])("400: an endpoint on %s stays on it", async (_family, made, change, detail) => {
    await using at = await endpoint(made);
    const { status, json } = await at.patch(change);
    expect([status, json.detail]).toEqual([400, detail]);
  });

  test("cpu replaces the whole list", async () => {
    await using at = await endpoint();
    const { json } = await at.patch({ cpu: [{ id: "cpu5g", vcpuCount: 8 }] });
    expect(json.cpu).toEqual([{ id: "cpu5g", vcpuCount: 8, memory: 32 }]);
  });

  test("pools replace pools and clear exclusions; without pools both stay", async () => {
    await using at = await endpoint(GPU);
    expect((await at.patch({ gpu: { count: 2 } })).json.gpu).toMatchObject({ ...GPU.gpu, count: 2 });
    const { json } = await at.patch({ gpu: { pools: ["AMPERE_48"] } });
    expect([json.gpu.excludedTypes, json.gpu.count]).toEqual([undefined, 2]);
  });

  test("422: exclusions without pools", async () => {
    await using at = await endpoint(GPU);
    const { status, json } = await at.patch({ gpu: { excludedTypes: ["NVIDIA RTX A6000"] } });
    expect([status, json.errors]).toEqual([422, ["$.gpu: 'excludedTypes' needs 'pools' beside it"]]);
  });

  test("an empty list or text clears CUDA versions, and one form replaces the other", async () => {
    await using at = await endpoint({ ...GPU, gpu: { ...GPU.gpu, minCudaVersion: "12.4" } });
    const versions = async (gpu: object) => {
      const { minCudaVersion, allowedCudaVersions } = (await at.patch({ gpu })).json.gpu;
      return [minCudaVersion, allowedCudaVersions];
    };
    expect(await versions({ count: 1 })).toEqual(["12.4", []]);
    expect(await versions({ allowedCudaVersions: ["12.8"] })).toEqual([null, ["12.8"]]);
    expect(await versions({ minCudaVersion: "12.1" })).toEqual(["12.1", []]);
    expect(await versions({ minCudaVersion: "" })).toEqual([null, []]);
    expect(await versions({ allowedCudaVersions: ["12.8"] })).toEqual([null, ["12.8"]]);
    expect(await versions({ allowedCudaVersions: [] })).toEqual([null, []]);
  });
});

describe("the start command", () => {
  test("cmd alone keeps the entrypoint; empty lists and an empty text clear", async () => {
    await using at = await endpoint({ ...CPU, entrypoint: ["python"], cmd: ["a.py"] });
    const command = async (change: object) => {
      const { args, entrypoint, cmd } = (await at.patch(change)).json;
      return [args, entrypoint, cmd];
    };
    expect(await command({ cmd: ["b.py"] })).toEqual([
      '{"entrypoint":["python"],"cmd":["b.py"]}',
      ["python"],
      ["b.py"],
    ]);
    expect(await command({ name: "n" })).toEqual(['{"entrypoint":["python"],"cmd":["b.py"]}', ["python"], ["b.py"]]);
    expect(await command({ args: "sh x" })).toEqual(["sh x", [], ["sh", "x"]]);
    expect(await command({ cmd: [] })).toEqual(["", [], []]);
    expect(await command({ args: "sh x" })).toEqual(["sh x", [], ["sh", "x"]]);
    expect(await command({ args: "" })).toEqual(["", [], []]);
  });
});

describe("releases", () => {
  test("what reaches the containers makes a new one", async () => {
    await using at = await endpoint();
    const changes = [
      { image: "busybox:2" },
      { args: "sh" },
      { disk: 30 },
      { env: { A: "1" } },
      { ports: ["80/http"] },
      { cpu: [{ id: "cpu3g", vcpuCount: 2 }] },
      { dataCenterIds: ["US-CA-1"] },
    ];
    const releases: number[] = [];
    for (const change of changes) {
      await at.patch(change);
      releases.push(await at.release());
    }
    expect(releases).toEqual(changes.map((_, i) => i + 2));
  });

  test("what applies at once, or changes nothing, makes none", async () => {
    await using at = await endpoint();
    await at.patch({ workers: { max: 7 }, scaling: { type: "QUEUE_DELAY", queueDelay: 9 }, timeout: 5000, name: "m" });
    await at.patch({ flashboot: "FLASHBOOT" });
    await at.patch({ image: CPU.image, cpu: CPU.cpu, env: {} });
    expect(await at.release()).toBe(1);
  });
});

test("changes to different fields at once are all there afterwards", async () => {
  await using at = await endpoint();
  const changes = [{ name: "m" }, { timeout: 7000 }, { workers: { max: 8 } }, { disk: 9 }, { env: { A: "1" } }];
  const statuses = (await Promise.all(changes.map(at.patch))).map(({ status }) => status);
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  expect(await at.read()).toMatchObject({ name: "m", timeout: 7000, workers: { max: 8 }, disk: 9, env: { A: "1" } });
});

test("an execution timeout applies to jobs submitted after the change", async () => {
  await using at = await endpoint({ ...CPU, timeout: 60_000 });
  const submit = async () => {
    const { id } = (await at.world.call("POST", `/v2/${at.made.id}/run`, { body: { input: {} } })).json;
    const reading = await at.world.queue.read(id, at.world.clock.now());
    return typeof reading === "object" ? reading.job.policy.executionTimeoutMs : undefined;
  };
  expect(await submit()).toBe(60_000);
  await at.patch({ timeout: 5000 });
  expect(await submit()).toBe(5000);
});
