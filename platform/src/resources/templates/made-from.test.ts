/** Endpoints and Pods made from templates. */
import { describe, expect, test } from "vitest";
import { CPU_POD, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import { InterceptedStore, setup, type World } from "../../../tests/world.ts";

const ENDPOINTS = "/v2/serverless";
const SERVERLESS = {
  name: "handler",
  image: "example/handler:1",
  serverless: true,
  args: "node worker.js",
  disk: 7,
  env: { A: "template", B: "template" },
  ports: ["80/http"],
  allowedCudaVersions: ["12.4"],
};
const GPU = { pools: ["ADA_24"] };
const UNKNOWN = "aaaaaaaaaaaaaa";

const template = async (world: World, more: object = {}, key?: string): Promise<string> =>
  (await world.call("POST", "/v2/templates", { body: { ...SERVERLESS, ...more }, ...(key && { key }) })).json.id;
const create = (world: World, body: object, key?: string) =>
  world.call("POST", ENDPOINTS, { body, ...(key && { key }) });

describe("a new endpoint", () => {
  test("needs nothing but a template", async () => {
    await using world = await setup();
    const { status, json } = await create(world, { templateId: await template(world) });
    expect([status, json]).toEqual([
      201,
      expect.objectContaining({
        ...{ name: "handler", image: "example/handler:1", args: "node worker.js", disk: 7, ports: ["80/http"] },
        ...{ env: SERVERLESS.env, type: "QUEUE", scaling: { type: "QUEUE_DELAY", queueDelay: 4 } },
        gpu: expect.objectContaining({ count: 1, allowedCudaVersions: ["12.4"] }),
      }),
    ]);
    expect(Object.keys(json)).not.toContain("template");
  });

  test("of category CPU gets a small flavor", async () => {
    await using world = await setup();
    const { json } = await create(world, { templateId: await template(world, { category: "CPU" }) });
    expect(json.cpu).toEqual([{ id: "cpu3c", vcpuCount: 2, memory: 4 }]);
  });

  test("has its own words in the place of the template's, and variables one by one", async () => {
    await using world = await setup();
    const own = { name: "own", image: "other", disk: 3, env: { B: "own" }, gpu: { ...GPU, minCudaVersion: "12.1" } };
    const { json } = await create(world, { ...own, templateId: await template(world) });
    expect(json).toMatchObject({ name: "own", image: "other", disk: 3, env: { A: "template", B: "own" } });
    expect(json.gpu).toMatchObject({ pools: ["ADA_24"], allowedCudaVersions: [], minCudaVersion: "12.1" });
  });

  test("is a copy: later edits of the template do not reach it", async () => {
    await using world = await setup();
    const id = await template(world);
    const made = (await create(world, { templateId: id })).json;
    await world.call("PATCH", `/v2/templates/${id}`, { body: { image: "other", env: {} } });
    expect((await world.call("GET", `${ENDPOINTS}/${made.id}`)).json).toEqual(made);
  });

  test("404 of a template that the caller cannot see, 422 of one for Pods", async () => {
    await using world = await setup();
    const unknown = await create(world, { templateId: UNKNOWN });
    expect([unknown.status, unknown.json.detail]).toEqual([404, "template not found"]);
    const key = await world.strangersKey();
    expect((await create(world, { templateId: await template(world) }, key)).status).toBe(404);
    const wrong = await create(world, { templateId: await template(world, { name: "pods", serverless: false }) });
    const error = "$.templateId: must name a serverless template; this one is for Pods";
    expect([wrong.status, wrong.json.errors]).toEqual([422, [error]]);
  });

  test("is made from a public template of another account, without that account's registry", async () => {
    await using world = await setup();
    const body = { name: "hub", username: "u", password: "p" };
    const registry = (await world.call("POST", "/v2/registries", { body })).json.id;
    const id = await template(world, { public: true, registry });
    expect((await create(world, { templateId: id })).json.registry).toBe(registry);
    const { status, json } = await create(world, { templateId: id }, await world.strangersKey());
    expect([status, json.registry]).toEqual([201, null]);
  });
});

describe("a change of an endpoint", () => {
  test("takes the template's container once, and makes a release", async () => {
    await using world = await setup();
    const { id } = (await create(world, { name: "e", image: "before", env: { C: "own" }, gpu: GPU })).json;
    const path = `${ENDPOINTS}/${id}`;
    const body = { templateId: await template(world), disk: 9 };
    const { status, json } = await world.call("PATCH", path, { body });
    expect([status, json]).toEqual([200, expect.objectContaining({ image: SERVERLESS.image, disk: 9, name: "e" })]);
    expect([json.env, json.gpu.allowedCudaVersions]).toEqual([SERVERLESS.env, []]);
    const { releases } = (await world.call("GET", `${path}/releases`)).json;
    expect(releases.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
    const unknown = await world.call("PATCH", path, { body: { templateId: UNKNOWN } });
    expect([unknown.status, unknown.json.detail]).toEqual([404, "template not found"]);
    const wrong = { templateId: await template(world, { name: "pods", serverless: false }) };
    expect((await world.call("PATCH", path, { body: wrong })).status).toBe(422);
  });

  test("by a narrowed key copies no template of the account", async () => {
    await using world = await setup();
    const { id } = (await create(world, { name: "e", image: "before", gpu: GPU })).json;
    const key = await world.newKey({ scopes: ["serverless:write"], endpoints: [id] });
    const body = { templateId: await template(world) };
    expect((await world.call("PATCH", `${ENDPOINTS}/${id}`, { key, body })).status).toBe(403);
  });
});

describe("a template that something was made from", () => {
  test("is not deleted: 400 with who uses it", async () => {
    await using world = await setup();
    const id = await template(world, { public: true });
    const used = (await create(world, { templateId: id, name: "mine" })).json.id;
    await create(world, { templateId: id }, await world.strangersKey());
    const refused = await world.call("DELETE", `/v2/templates/${id}`);
    const detail = `This template is in use by endpoint 'mine' (${used}). Change or delete what uses it first.`;
    expect([refused.status, refused.json.detail]).toEqual([400, detail]);
    await world.call("DELETE", `${ENDPOINTS}/${used}`);
    expect((await world.call("DELETE", `/v2/templates/${id}`)).status).toBe(204);
  });

  test("at the same moment at which it is deleted: one of the two is refused", async () => {
    const store = new InterceptedStore();
    await using world = await setup({ store });
    const id = await template(world);
    let deleted: number | undefined;
    store.beforeCommit = async (writes) => {
      if (deleted !== undefined || !writes.some((write) => write.do === "insert" && write.record.kind === "endpoint"))
        return;
      deleted = 0;
      deleted = (await world.call("DELETE", `/v2/templates/${id}`)).status;
    };
    const { status, json } = await create(world, { templateId: id });
    expect([deleted, status, json.detail]).toEqual([204, 404, "template not found"]);
  });
});

describe("a Pod", () => {
  const PODS = { ...SERVERLESS, name: "pods", serverless: false, startJupyter: true };
  const { image: _, ...BARE } = CPU_POD as typeof CPU_POD & { image: string };

  test("is made from a template, keeps it from being deleted, and takes no serverless one", async () => {
    await using world = await setupPods();
    const id = (await world.call("POST", "/v2/templates", { body: PODS })).json.id;
    const pod = await world.create({ ...BARE, templateId: id, env: { B: "own" } } as unknown as typeof CPU_POD);
    expect(pod).toMatchObject({ image: PODS.image, args: PODS.args, disk: 7, env: { A: "template", B: "own" } });
    expect((await world.call("DELETE", `/v2/templates/${id}`)).json.detail).toContain(`(${pod.id})`);
    const serverless = (await world.call("POST", "/v2/templates", { body: SERVERLESS })).json.id;
    const refused = await world.call("POST", "/v2/pods", { body: { ...BARE, templateId: serverless } });
    expect([refused.status, refused.json.errors]).toEqual([
      422,
      ["$.templateId: names a serverless template, from which endpoints are made and not Pods"],
    ]);
    expect((await world.call("POST", "/v2/pods", { body: { ...BARE, templateId: UNKNOWN } })).status).toBe(404);
  });

  test("has the least storage where its template names less", async () => {
    await using world = await setupPods({ machine: TWO_GPUS });
    const template = { name: "small", imageName: "busybox", volumeInGb: 5, volumeMountPath: "/data" };
    const { id } = (await world.call("POST", "/v1/templates", { body: template })).json;
    const body = { name: "p", gpu: { id: "NVIDIA A40" }, templateId: id };
    const { status, json } = await world.call("POST", "/v2/pods", { body });
    expect([status, json.mounts]).toEqual([201, { persistent: { size: 10, path: "/data" } }]);
    const { mounts } = json;
    expect((await world.call("PATCH", `/v2/pods/${json.id}`, { body: { mounts } })).status).toBe(200);
  });

  test("that is longer with its template than a Pod may be is refused: 413", async () => {
    await using world = await setupPods();
    const env = { LONG: "x".repeat(110_000) };
    const id = (await world.call("POST", "/v2/templates", { body: { ...PODS, env } })).json.id;
    const { status, json } = await world.call("POST", "/v2/pods", { body: { ...BARE, templateId: id } });
    expect([status, json.detail]).toEqual([413, expect.stringContaining("of 102400 at most")]);
  });

  test("takes the container of a template later", async () => {
    await using world = await setupPods();
    const id = (await world.call("POST", "/v2/templates", { body: PODS })).json.id;
    const pod = await world.create(CPU_POD);
    const { status, json } = await world.call("PATCH", `/v2/pods/${pod.id}`, { body: { templateId: id } });
    expect([status, json]).toEqual([200, expect.objectContaining({ image: PODS.image, env: PODS.env })]);
    expect((await world.call("PATCH", `/v2/pods/${pod.id}`, { body: { templateId: UNKNOWN } })).status).toBe(404);
  });
});
