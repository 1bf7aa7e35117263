/** Templates: how they are made, read, changed and deleted, and what other accounts see of them. */
import { describe, expect, test } from "vitest";
import { type Answer, setup, type World } from "../../../tests/world.ts";

const TEMPLATES = "/v2/templates";
const PLAIN = { name: "plain", image: "example/image:1" };
const UNKNOWN = "aaaaaaaaaaaaaa";

const make = (world: World, body: object = PLAIN, key?: string): Promise<Answer> =>
  world.call("POST", TEMPLATES, { body, ...(key && { key }) });
const patch = (world: World, id: string, body: object, key?: string): Promise<Answer> =>
  world.call("PATCH", `${TEMPLATES}/${id}`, { body, ...(key && { key }) });
const get = (world: World, id: string, key?: string): Promise<Answer> =>
  world.call("GET", `${TEMPLATES}/${id}`, { ...(key && { key }) });
const makeRegistry = async (world: World): Promise<string> =>
  (await world.call("POST", "/v2/registries", { body: { name: "hub", username: "u", password: "p" } })).json.id;

describe("a template", () => {
  test("that says nothing has what the sheet says", async () => {
    await using world = await setup();
    const made = await make(world);
    expect([made.status, made.json]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[a-z0-9]{14}$/),
        ...PLAIN,
        args: "",
        entrypoint: [],
        cmd: [],
        disk: 20,
        env: {},
        ports: [],
        registry: null,
        mounts: {},
        serverless: false,
        public: false,
        category: "NVIDIA",
        startSsh: true,
        startJupyter: true,
        allowedCudaVersions: [],
      },
    ]);
    expect((await get(world, made.json.id)).json).toEqual(made.json);
  });

  test("says all that it was given", async () => {
    await using world = await setup();
    const said = {
      name: "whole",
      image: "example/image:2",
      args: "run it",
      disk: 5,
      env: { TOKEN: "{{ MILLRACE_SECRET_token }}" },
      ports: ["8888/http", "22/tcp"],
      registry: await makeRegistry(world),
      mounts: { persistent: { size: 10, path: "/workspace" } },
      serverless: true,
      public: true,
      category: "AMD",
      startSsh: false,
      startJupyter: false,
      allowedCudaVersions: ["12.8"],
    };
    const { status, json } = await make(world, said);
    expect([status, json]).toEqual([201, { id: json.id, ...said, entrypoint: [], cmd: ["run", "it"] }]);
  });

  test.each([
    [{ name: "n" }, "$: property 'image' is required"],
    [{ image: "i" }, "$: property 'name' is required"],
    [{ ...PLAIN, name: "" }, "$.name: must not be empty"],
    [{ ...PLAIN, image: "" }, "$.image: must not be empty"],
    [{ ...PLAIN, image: "host:app" }, "$.image: 'host:' must be followed by an absolute path, such as host:/srv/app"],
    [{ ...PLAIN, disk: 0 }, "$.disk: must be >= 1"],
    [{ ...PLAIN, category: "TPU" }, "$.category: must be one of CPU, NVIDIA, AMD"],
    [{ ...PLAIN, allowedCudaVersions: ["12"] }, "$.allowedCudaVersions[0]: must match ^\\d+\\.\\d+$"],
    [{ ...PLAIN, mounts: { network: [] } }, "$.mounts: additional properties 'network' not allowed"],
    [{ ...PLAIN, mounts: { persistent: { size: 9, path: "/p" } } }, "$.mounts.persistent.size: must be >= 10"],
    [{ ...PLAIN, mounts: { persistent: { size: 10 } } }, "$.mounts.persistent: property 'path' is required"],
    [{ ...PLAIN, readme: "# no" }, "$: additional properties 'readme' not allowed"],
    [{ ...PLAIN, id: UNKNOWN }, "$: additional properties 'id' not allowed"],
  ])("422: %j", async (body, error) => {
    await using world = await setup();
    const { status, json } = await make(world, body);
    expect([status, json.errors]).toEqual([422, [error]]);
  });

  test("of Pods may name symmetric ports, and one of endpoints none", async () => {
    await using world = await setup();
    const ports = ["70000/tcp"];
    const { status, json } = await make(world, { ...PLAIN, ports });
    expect([status, json.ports]).toEqual([201, ports]);
    const error = "$.ports[0]: must be a port from 1 to 65535";
    expect((await make(world, { ...PLAIN, name: "s", serverless: true, ports })).json.errors).toEqual([error]);
    expect((await patch(world, json.id, { serverless: true, ports })).json.errors).toEqual([error]);
  });

  test("400: a command in two forms that differ", async () => {
    await using world = await setup();
    const { status, json } = await make(world, { ...PLAIN, args: "run", cmd: ["walk"] });
    expect([status, json.detail]).toEqual([400, expect.stringContaining("different commands")]);
  });

  test("has a name that no other of its account has: 400, at creation and in a change", async () => {
    await using world = await setup();
    await make(world);
    const again = await make(world);
    expect([again.status, again.json.detail]).toEqual([400, "A template named 'plain' already exists."]);
    const other = (await make(world, { ...PLAIN, name: "other" })).json;
    const renamed = await patch(world, other.id, { name: "plain" });
    expect([renamed.status, renamed.json.detail]).toEqual([400, "A template named 'plain' already exists."]);
    expect((await patch(world, other.id, { name: "other" })).status).toBe(200);
    expect((await make(world, PLAIN, await world.strangersKey())).status).toBe(201);
  });

  test("names a registry of its account, and no other: 404", async () => {
    await using world = await setup();
    const registry = await makeRegistry(world);
    expect((await make(world, { ...PLAIN, registry: { id: registry } })).json.registry).toBe(registry);
    const unknown = await make(world, { ...PLAIN, name: "u", registry: UNKNOWN });
    expect([unknown.status, unknown.json.detail]).toEqual([404, "registry not found"]);
    const stranger = await make(world, { ...PLAIN, registry }, await world.strangersKey());
    expect(stranger.status).toBe(404);
  });

  test("has no registry any more when that is deleted", async () => {
    await using world = await setup();
    const registry = await makeRegistry(world);
    const { id } = (await make(world, { ...PLAIN, registry })).json;
    const { id: other } = (await make(world, { ...PLAIN, name: "other" })).json;
    expect((await world.call("DELETE", `/v2/registries/${registry}`)).status).toBe(204);
    expect((await get(world, id)).json.registry).toBe(null);
    const { templates } = (await world.call("GET", TEMPLATES)).json;
    expect(templates.map(({ registry }: { registry: null }) => registry)).toEqual([null, null]);
    expect((await patch(world, id, { disk: 3 })).json.registry).toBe(null);
    expect((await patch(world, other, { registry })).status).toBe(404);
    expect((await patch(world, id, { registry })).status).toBe(404);
    await patch(world, id, { serverless: true });
    const endpoint = await world.call("POST", "/v2/serverless", { body: { templateId: id } });
    expect([endpoint.status, endpoint.json.registry]).toEqual([201, null]);
  });
});

describe("a change", () => {
  test("is of what was sent alone; variables are replaced, storage is kept by an empty object", async () => {
    await using world = await setup();
    const mounts = { persistent: { size: 10, path: "/workspace" } };
    const made = (await make(world, { ...PLAIN, env: { A: "1" }, args: "run", mounts })).json;
    const change = { env: { B: "2" }, disk: 9, mounts: {}, startSsh: false, allowedCudaVersions: ["12.1"] };
    const { status, json } = await patch(world, made.id, change);
    expect([status, json]).toEqual([200, { ...made, ...change, mounts }]);
    expect((await patch(world, made.id, { allowedCudaVersions: [], cmd: [] })).json).toMatchObject({
      allowedCudaVersions: [],
      args: "",
    });
    const larger = { persistent: { size: 20, path: "/data" } };
    expect((await patch(world, made.id, { mounts: larger })).json.mounts).toEqual(larger);
  });

  test("of nothing is none", async () => {
    await using world = await setup();
    const made = (await make(world)).json;
    const { status, json } = await patch(world, made.id, {});
    expect([status, json]).toEqual([200, made]);
  });

  test("keeps what only other surfaces say", async () => {
    await using world = await setup();
    const caller = { ...world.owner } as unknown as Parameters<World["services"]["templates"]["create"]>[0];
    const beyond = { readme: "# r", startScript: "echo", portLabels: [{ port: "80", name: "web" }] };
    const { id } = await world.services.templates.create(caller, { ...PLAIN, ...beyond });
    const { json } = await patch(world, id, { disk: 9 });
    expect(Object.keys(json)).not.toContain("readme");
    expect((await world.services.templates.visible(caller, id)).doc).toMatchObject({ ...beyond, disk: 9 });
  });
});

test("the list holds the account's own in pages, the newest first", async () => {
  await using world = await setup();
  for (const name of ["a", "b", "c"]) {
    await make(world, { ...PLAIN, name });
    await world.clock.advance(1);
  }
  await make(world, { ...PLAIN, public: true }, await world.strangersKey());
  const first = (await world.call("GET", `${TEMPLATES}?limit=2`)).json;
  const next = (await world.call("GET", `${TEMPLATES}?limit=2&cursor=${first.pagination.nextCursor}`)).json;
  const names = [...first.templates, ...next.templates].map(({ name }: { name: string }) => name);
  expect([names, next.pagination]).toEqual([["c", "b", "a"], { nextCursor: null, hasNextPage: false }]);
});

describe("another account", () => {
  test("does not see one that is not public", async () => {
    await using world = await setup();
    const { id } = (await make(world)).json;
    const { status, json } = await get(world, id, await world.strangersKey());
    expect([status, json.detail]).toEqual([404, "template not found"]);
  });

  test("reads a public one without its registry, and neither changes nor deletes it", async () => {
    await using world = await setup();
    const registry = await makeRegistry(world);
    const made = (await make(world, { ...PLAIN, public: true, registry })).json;
    const key = await world.strangersKey();
    expect((await get(world, made.id, key)).json).toEqual({ ...made, registry: null });
    expect((await patch(world, made.id, { disk: 1 }, key)).status).toBe(404);
    expect((await world.call("DELETE", `${TEMPLATES}/${made.id}`, { key })).status).toBe(404);
    await patch(world, made.id, { public: false });
    expect((await get(world, made.id, key)).status).toBe(404);
  });
});

test("one that nothing uses is deleted, and its name is free again", async () => {
  await using world = await setup();
  const { id } = (await make(world)).json;
  expect((await world.call("DELETE", `${TEMPLATES}/${id}`)).status).toBe(204);
  expect((await world.call("DELETE", `${TEMPLATES}/${id}`)).json.detail).toBe("template not found");
  expect((await make(world)).status).toBe(201);
});
