/** Registries: their credentials go in and never come out, and they cannot be deleted while something uses them. */
import { describe, expect, test } from "vitest";
import { type Answer, InterceptedStore, setup, type World } from "../../../tests/world.ts";

const REGISTRIES = "/v2/registries";
const HUB = { name: "hub", username: "reader-of-hub", password: "correct horse battery" };
const ENDPOINT = { name: "vision", image: "registry.test/vision:1", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const UNKNOWN = "aaaaaaaaaaaaaa";

const make = (world: World, body: object = HUB, key?: string): Promise<Answer> =>
  world.call("POST", REGISTRIES, { body, ...(key && { key }) });
const makeId = async (world: World, body?: object, key?: string): Promise<string> =>
  (await make(world, body, key)).json.id;
const endpointWith = (world: World, registry: unknown) =>
  world.call("POST", "/v2/serverless", { body: { ...ENDPOINT, registry } });

describe("a registry", () => {
  test("is created, listed and got by its name alone", async () => {
    await using world = await setup();
    const made = await make(world);
    expect([made.status, made.json]).toEqual([201, { id: expect.stringMatching(/^[a-z0-9]{14}$/), name: "hub" }]);
    expect((await world.call("GET", REGISTRIES)).json).toEqual({ registries: [made.json] });
    expect((await world.call("GET", `${REGISTRIES}/${made.json.id}`)).json).toEqual(made.json);
  });

  test("shows neither user name nor password anywhere, nor are they readable in the store or the log", async () => {
    const store = new InterceptedStore();
    const written: unknown[] = [];
    store.beforeCommit = (writes) => void written.push(...writes);
    await using world = await setup({ store });
    const answers = [await make(world), await make(world), await world.call("GET", REGISTRIES)];
    const texts = JSON.stringify([answers.map(({ text }) => text), written, world.logged]);
    expect(texts).not.toContain(HUB.username);
    expect(texts).not.toContain(HUB.password);
  });

  test("has a name that no other of its account has: 400", async () => {
    await using world = await setup();
    await make(world);
    const again = await make(world);
    expect([again.status, again.json.detail]).toEqual([400, "A registry named 'hub' already exists."]);
    expect((await make(world, HUB, await world.strangersKey())).status).toBe(201);
    expect((await world.call("GET", REGISTRIES)).json.registries).toHaveLength(1);
  });

  test.each([
    [{ name: "hub", username: "u" }, "$: property 'password' is required"],
    [{ ...HUB, name: "" }, "$.name: must not be empty"],
    [{ ...HUB, username: "" }, "$.username: must not be empty"],
    [{ ...HUB, password: "" }, "$.password: must not be empty"],
    [{ ...HUB, name: "n".repeat(192) }, "$.name: must have at most 191 characters"],
    [{ ...HUB, username: "n".repeat(192) }, "$.username: must have at most 191 characters"],
    [{ ...HUB, password: "p".repeat(16_385) }, "$.password: must have at most 16384 characters"],
    [{ ...HUB, url: "https://hub" }, "$: additional properties 'url' not allowed"],
  ])("is held to its fields: %#", async (body, error) => {
    await using world = await setup();
    const { status, json } = await make(world, body);
    expect([status, json.errors]).toEqual([422, [error]]);
  });

  test("takes the longest password", async () => {
    await using world = await setup();
    expect((await make(world, { ...HUB, password: "p".repeat(16_384) })).status).toBe(201);
  });

  test("is not changed: there is no such method", async () => {
    await using world = await setup();
    const id = await makeId(world);
    expect((await world.call("PATCH", `${REGISTRIES}/${id}`, { body: { name: "other" } })).status).toBe(405);
  });

  test("is deleted, and its name is free again", async () => {
    await using world = await setup();
    const id = await makeId(world);
    expect((await world.call("DELETE", `${REGISTRIES}/${id}`)).status).toBe(204);
    expect((await world.call("GET", `${REGISTRIES}/${id}`)).json.detail).toBe("registry not found");
    expect((await world.call("DELETE", `${REGISTRIES}/${id}`)).status).toBe(404);
    expect((await make(world)).status).toBe(201);
  });

  test("is not there for another account", async () => {
    await using world = await setup();
    const id = await makeId(world);
    const key = await world.strangersKey();
    const asked = [
      await world.call("GET", `${REGISTRIES}/${id}`, { key }),
      await world.call("DELETE", `${REGISTRIES}/${id}`, { key }),
      await world.call("POST", "/v2/serverless", { key, body: { ...ENDPOINT, registry: id } }),
    ];
    expect(asked.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect((await world.call("GET", REGISTRIES, { key })).json).toEqual({ registries: [] });
    const { registries } = world.services;
    const stranger = registries.accessTo({ account: "another", image: "i", registry: id });
    await expect(stranger).rejects.toThrow(`registry "${id}" does not exist`);
  });

  test("has a credential that can be replaced, which the next pull uses", async () => {
    await using world = await setup();
    const id = await makeId(world);
    const { registries } = world.services;
    const { account } = world.owner;
    const access = () => registries.accessTo({ account, image: "i", registry: id });
    expect(await access()).toEqual({ credential: { username: HUB.username, password: HUB.password } });
    const caller = { ...world.owner, user: "u" } as unknown as Parameters<typeof registries.rotate>[0];
    await registries.rotate(caller, id, { username: "u2", password: "p2" });
    expect(await access()).toEqual({ credential: { username: "u2", password: "p2" } });
  });
});

describe("an endpoint", () => {
  test.each([
    ["an id", (id: string) => id],
    ["an object", (id: string) => ({ id })],
  ])("names a registry by %s, and shows the id", async (_, form) => {
    await using world = await setup();
    const id = await makeId(world);
    const { status, json } = await endpointWith(world, form(id));
    expect([status, json.registry]).toEqual([201, id]);
  });

  test("is given one later, and none, each of which makes a release", async () => {
    await using world = await setup();
    const id = await makeId(world);
    const endpoint = `/v2/serverless/${(await endpointWith(world, null)).json.id}`;
    const patch = (registry: unknown) => world.call("PATCH", endpoint, { body: { registry } });
    expect((await patch({ id })).json.registry).toBe(id);
    expect((await patch(UNKNOWN)).json.detail).toBe("registry not found");
    expect((await patch(null)).json.registry).toBe(null);
    const { releases } = (await world.call("GET", `${endpoint}/releases`)).json;
    const changes = releases.map(({ diff }: { diff: unknown[] }) => diff);
    const field = "template.containerRegistryAuthId";
    expect(changes).toEqual([[{ field, old: id, new: null }], [{ field, old: null, new: id }], []]);
  });

  test("keeps the registry that it names from being deleted: 400 with its name", async () => {
    await using world = await setup();
    const id = await makeId(world);
    const endpoint = (await endpointWith(world, id)).json.id;
    const refused = await world.call("DELETE", `${REGISTRIES}/${id}`);
    const who = `This registry is in use by endpoint 'vision' (${endpoint}). Change or delete what uses it first.`;
    expect([refused.status, refused.json.detail]).toEqual([400, who]);
    await world.call("DELETE", `/v2/serverless/${endpoint}`);
    expect((await world.call("DELETE", `${REGISTRIES}/${id}`)).status).toBe(204);
  });

  test("of many that use it, ten are named", async () => {
    await using world = await setup();
    const id = await makeId(world);
    for (let n = 0; n < 12; n++) await endpointWith(world, id);
    const { detail } = (await world.call("DELETE", `${REGISTRIES}/${id}`)).json;
    expect(detail.match(/endpoint 'vision'/g)).toHaveLength(10);
    expect(detail).toContain("and others");
  });

  test("that begins to use it while it is deleted is seen, or is told that it is gone", async () => {
    for (const first of ["deletion", "creation"]) {
      const store = new InterceptedStore();
      await using world = await setup({ store });
      const id = await makeId(world);
      const isIt = { deletion: "endpoint", creation: "registry" }[first]!;
      let other: Promise<Answer> | undefined;
      store.beforeCommit = async (writes) => {
        const kinds = writes.map((write) => (write.do === "insert" ? write.record.kind : write.kind));
        const isRemoval = writes[0]?.do === "remove";
        if (other || !kinds.includes(isIt) || (isIt === "registry" && !isRemoval)) return;
        other = first === "deletion" ? world.call("DELETE", `${REGISTRIES}/${id}`) : endpointWith(world, id);
        await other;
      };
      const asked = first === "deletion" ? endpointWith(world, id) : world.call("DELETE", `${REGISTRIES}/${id}`);
      const [late, early] = [await asked, await other!];
      expect([first, early.status, late.status]).toEqual(first === "deletion" ? [first, 204, 404] : [first, 201, 400]);
    }
  });

  test("of a narrowed key gets no registry that it did not have", async () => {
    await using world = await setup();
    const id = await makeId(world);
    const { json } = await endpointWith(world, null);
    const key = await world.newKey({ scopes: ["serverless:write"], endpoints: [json.id] });
    const patch = (body: object) => world.call("PATCH", `/v2/serverless/${json.id}`, { key, body });
    const refused = await patch({ registry: id });
    expect([refused.status, refused.json.detail]).toEqual([
      403,
      expect.stringContaining("a registry that they do not"),
    ]);
    expect((await patch({ registry: null })).status).toBe(200);
  });
});
