/** What public clients of REST v2 send and read, client by client. Each expectation here keeps one of them working. */
import { describe, expect, test } from "vitest";
import { GPU_POD, type PodWorld, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

const AGENT = { "User-Agent": "runpod-sdk/0.1.1 (node)", "X-Runpod-Session-Id": "5f0e" };
const ENDPOINT = { name: "e", image: "host:/app", gpu: { pools: ["AMPERE_48"], count: 1 } };

const setup = () => setupPods({ machine: TWO_GPUS, rateLimits: "600,18000,200000" });
const get = (world: PodWorld, path: string) => world.call("GET", path, { headers: AGENT });

describe("the TypeScript SDK and the MCP server 4", () => {
  test("headers that nobody knows are no hindrance, and a list has its key also when it is empty", async () => {
    await using world = await setup();
    const lists = { pods: "pods", serverless: "endpoints", templates: "templates", registries: "registries" };
    for (const [path, key] of Object.entries(lists)) expect((await get(world, `/v2/${path}`)).json[key]).toEqual([]);
    expect((await get(world, "/v2/network-volumes")).json.networkVolumes).toEqual([]);
  });

  test("a deletion has no body at all, and a refusal says by its content type that it is a problem", async () => {
    await using world = await setup();
    const { id } = await world.create(GPU_POD);
    const gone = await world.call("DELETE", `/v2/pods/${id}`);
    expect([gone.status, gone.text, gone.headers.get("content-type")]).toEqual([204, "", null]);
    const unknown = await get(world, `/v2/pods/${id}`);
    expect([unknown.status, unknown.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });

  test("the windows of its limits parse as a list: names as texts, what is left and for how long as whole numbers", async () => {
    await using world = await setup();
    const { headers } = await get(world, "/v2/pods");
    expect(headers.get("ratelimit")).toMatch(/^"minute";r=\d+;t=\d+, "hour";r=\d+;t=\d+, "day";r=\d+;t=\d+$/);
    expect(headers.get("ratelimit-policy")).toBe('"minute";q=600;w=60, "hour";q=18000;w=3600, "day";q=200000;w=86400');
  });

  test("429 says in whole seconds how long to wait", async () => {
    await using world = await setupPods({ rateLimits: "1,10,100" });
    await get(world, "/v2/pods");
    const { status, headers } = await get(world, "/v2/pods");
    expect([status, headers.get("retry-after")]).toEqual([429, expect.stringMatching(/^[1-9]\d*$/)]);
  });

  test("lists in a query are joined by commas, and availability is asked for with its product", async () => {
    await using world = await setup();
    const { status, json } = await get(world, "/v2/catalog/gpus?include=AVAILABILITY&product=POD,SERVERLESS");
    expect(status).toBe(200);
    expect(json.gpus.find(({ id }: { id: string }) => id === "NVIDIA A40")).toHaveProperty("availability");
    expect((await get(world, "/v2/catalog/gpus?include=AVAILABILITY")).status).toBe(400);
  });

  test("GPUs of an endpoint are pinned by a sparse change, and an empty least CUDA version takes it away", async () => {
    await using world = await setup();
    const { json } = await world.call("POST", "/v2/serverless", { body: ENDPOINT });
    const pin = async (gpu: object) =>
      (await world.call("PATCH", `/v2/serverless/${json.id}`, { body: { gpu } })).json.gpu;
    const pools = ["AMPERE_16"];
    const excludedTypes = ["NVIDIA RTX A4500"];
    expect(await pin({ pools, excludedTypes, count: 2, minCudaVersion: "12.4", allowedCudaVersions: [] })).toEqual({
      ...{ pools, excludedTypes, count: 2, allowedCudaVersions: [], minCudaVersion: "12.4" },
    });
    expect(await pin({ minCudaVersion: "" })).toMatchObject({ pools, excludedTypes, minCudaVersion: null });
  });

  test("a list of endpoints has what its diagnosis reads, and so has the list of their workers", async () => {
    await using world = await setup();
    const { json: made } = await world.call("POST", "/v2/serverless", { body: ENDPOINT });
    const [endpoint] = (await get(world, "/v2/serverless")).json.endpoints;
    const read = [
      "id",
      "name",
      "type",
      "image",
      "gpu",
      "workers",
      "scaling",
      "dataCenterIds",
      "flashboot",
      "createdAt",
    ];
    expect(Object.keys(endpoint)).toEqual(expect.arrayContaining(read));
    const { json } = await get(world, `/v2/serverless/${made.id}/workers`);
    expect([json.workers, typeof json.summary]).toEqual([[], "object"]);
  });

  test("a key that is checked against REST v2 is known or not", async () => {
    await using world = await setup();
    expect((await get(world, "/v2/catalog/gpus")).status).toBe(200);
    expect((await world.call("GET", "/v2/catalog/gpus", { key: "unknown-key-of-nobody" })).status).toBe(401);
  });
});

describe("the MCP server 3 on REST v2", () => {
  test("a Pod is made of the fields of a template that it read before", async () => {
    await using world = await setup();
    const mounts = { persistent: { size: 10, path: "/workspace" } };
    const template = {
      name: "t",
      image: "host:/app",
      args: "run it",
      disk: 7,
      ports: ["80/http"],
      env: { A: "b" },
      mounts,
    };
    const { json: made } = await world.call("POST", "/v2/templates", { body: template });
    const {
      image,
      args,
      disk,
      ports,
      env,
      registry,
      mounts: stored,
    } = (await get(world, `/v2/templates/${made.id}`)).json;
    const body = {
      name: "p",
      image,
      args,
      disk,
      ports,
      env,
      registry,
      mounts: stored,
      cloud: "SECURE",
      gpu: GPU_POD.gpu,
    };
    const { status, json } = await world.call("POST", "/v2/pods", { body });
    expect([status, json]).toEqual([201, expect.objectContaining({ image, args, disk, ports, env, mounts })]);
  });

  test("an endpoint is made of all that it can say, and its type is refused in a change, in words that it knows", async () => {
    await using world = await setup();
    const more = {
      args: "run",
      disk: 5,
      ports: [],
      env: {},
      registry: null,
      workers: { min: 0, max: 1 },
      timeout: 60_000,
    };
    const scaling = { type: "QUEUE_DELAY", queueDelay: 4 };
    const body = {
      ...ENDPOINT,
      ...more,
      scaling,
      dataCenterIds: [],
      networkVolumes: [],
      flashboot: "OFF",
      type: "QUEUE",
    };
    const { status, json } = await world.call("POST", "/v2/serverless", { body });
    expect(status).toBe(201);
    const changed = await world.call("PATCH", `/v2/serverless/${json.id}`, { body: { type: "LOAD_BALANCER" } });
    expect([changed.status, changed.json.errors]).toEqual([422, ["$: additional properties 'type' not allowed"]]);
  });
});

describe("the Terraform provider", () => {
  test("reads a bare template with exactly 200, and a Pod whose id is a text", async () => {
    await using world = await setup();
    const { json: made } = await world.call("POST", "/v2/templates", { body: { name: "t", image: "host:/app" } });
    const { status, json } = await get(world, `/v2/templates/${made.id}`);
    expect(status).toBe(200);
    const read = ["image", "args", "ports", "env", "disk", "mounts", "registry"];
    expect(Object.keys(json)).toEqual(expect.arrayContaining(read));
    expect(typeof (await world.create(GPU_POD)).id).toBe("string");
  });

  test.each([
    ["bidPerGpu", 0.2, "$: additional properties 'bidPerGpu' not allowed"],
    ["mounts", [{ size: 10 }], "$.mounts: must be object"],
  ])("is told what is wrong with %s, which REST v2 does not know so", async (field, value, error) => {
    await using world = await setup();
    const { status, json } = await world.call("POST", "/v2/pods", { body: { ...GPU_POD, [field]: value } });
    expect([status, json.errors]).toEqual([422, [error]]);
  });
});

describe("scripts", () => {
  test("branch on an empty list of secrets with a name", async () => {
    await using world = await setup();
    const { status, json } = await get(world, "/v2/account/secrets?name=hf_token");
    expect([status, json.secrets]).toEqual([200, []]);
  });

  test("within a Pod end it with the key that it was given", async () => {
    await using world = await setup();
    const { id } = await world.create(GPU_POD);
    const { RUNPOD_API_KEY: key, RUNPOD_POD_ID } = world.running()[0]!.spec.env;
    expect(RUNPOD_POD_ID).toBe(id);
    expect((await world.call("DELETE", `/v2/pods/${id}`, { key: key! })).status).toBe(204);
  });

  test("try the next GPU at 400, and stop at 422", async () => {
    await using world = await setup();
    const full = { ...GPU_POD, gpu: { id: "NVIDIA A40", count: 3 } };
    expect((await world.call("POST", "/v2/pods", { body: full })).status).toBe(400);
    expect((await world.call("POST", "/v2/pods", { body: { ...GPU_POD, gpu: 1 } })).status).toBe(422);
  });
});
