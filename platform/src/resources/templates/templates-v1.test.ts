/** Templates through REST v1. */
import { describe, expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";

const TEMPLATES = "/v1/templates";
const TEMPLATE = { name: "sd", imageName: "busybox:1" };

async function world() {
  const made = await setup();
  const make = async (body: object = TEMPLATE) => (await made.call("POST", TEMPLATES, { body })).json;
  return { ...made, make };
}

test("a name and an image will do: all else is as this API has it by default", async () => {
  await using there = await world();
  const { status, json } = await there.call("POST", TEMPLATES, { body: TEMPLATE });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    ...{ id: expect.any(String), name: "sd", imageName: "busybox:1", category: "NVIDIA" },
    ...{ containerDiskInGb: 50, volumeInGb: 20, volumeMountPath: "/workspace", ports: ["8888/http", "22/tcp"] },
    ...{ env: {}, dockerEntrypoint: [], dockerStartCmd: [], readme: "" },
    ...{ isPublic: false, isServerless: false, isRunpod: false, earned: 0, runtimeInMin: 0 },
  });
  expect(json).not.toHaveProperty("containerRegistryAuthId");
  expect((await there.call("GET", `${TEMPLATES}/${json.id}`)).json).toEqual(json);
});

test.each(["name", "imageName"])("without %s: 400", async (field) => {
  await using there = await world();
  const { status, json } = await there.call("POST", TEMPLATES, { body: { ...TEMPLATE, [field]: undefined } });
  expect([status, json.message]).toEqual([400, expect.stringContaining(`property '${field}' is required`)]);
});

test("a template of workers, or for Pods without GPUs, has no storage by default", async () => {
  await using there = await world();
  expect(await there.make({ ...TEMPLATE, isServerless: true })).toMatchObject({ volumeInGb: 0, volumeMountPath: "" });
  expect(await there.make({ ...TEMPLATE, name: "b", category: "CPU" })).toMatchObject({ volumeInGb: 0 });
});

describe("in each form that clients send", () => {
  test.each([
    ["env as a map", { env: { A: "1" } }, { env: { A: "1" } }],
    ["env as pairs", { env: [{ key: "A", value: "1" }] }, { env: { A: "1" } }],
    ["ports as a list", { ports: ["80/http"] }, { ports: ["80/http"] }],
    ["ports as one text", { ports: "80/http, 22/tcp" }, { ports: ["80/http", "22/tcp"] }],
    ["no ports", { ports: "" }, { ports: [] }],
    ["a command as one text", { dockerArgs: "python a.py" }, { dockerStartCmd: ["python", "a.py"] }],
    ["a command in lists", { dockerEntrypoint: ["sh"], dockerStartCmd: ["-c"] }, { dockerEntrypoint: ["sh"] }],
    [
      "a text beside empty lists",
      { dockerArgs: "a", dockerEntrypoint: [], dockerStartCmd: [] },
      { dockerStartCmd: ["a"] },
    ],
    ["lists beside an empty text", { dockerArgs: "", dockerStartCmd: ["a"] }, { dockerStartCmd: ["a"] }],
    ["no registry as an empty text", { containerRegistryAuthId: "" }, {}],
    ["an empty path", { volumeMountPath: "" }, { volumeInGb: 20, volumeMountPath: "/workspace" }],
    ["no volume", { volumeInGb: 0 }, { volumeInGb: 0, volumeMountPath: "" }],
    ["null for the default", { containerDiskInGb: null, volumeInGb: null }, { containerDiskInGb: 50, volumeInGb: 20 }],
  ])("%s", async (_what, said, shown) => {
    await using there = await world();
    expect(await there.make({ ...TEMPLATE, ...said })).toMatchObject(shown);
  });

  test.each([
    ["a port that is none", { ports: "80/udp" }, "$.ports[0]"],
    ["a path that is none", { volumeMountPath: "data" }, "$.volumeMountPath"],
    ["an image that is none", { imageName: "host:app" }, "$.imageName"],
    ["a variable without a name", { env: [{ key: "", value: "1" }] }, "$.env[0].key"],
  ])("%s is refused where it stands", async (_what, said, where) => {
    await using there = await world();
    const { status, json } = await there.call("POST", TEMPLATES, { body: { ...TEMPLATE, ...said } });
    expect([status, json.message]).toEqual([400, expect.stringContaining(where)]);
  });
});

describe("a change", () => {
  test.each(["PATCH ", "POST /update"])(
    "by %s leaves what is not sent as it is, also what has a default",
    async (how) => {
      await using there = await world();
      const made = await there.make({ ...TEMPLATE, containerDiskInGb: 30, env: { A: "1" }, ports: ["1/tcp"] });
      const [method, end] = how.split(" ") as [string, string];
      const { status, json } = await there.call(method, `${TEMPLATES}/${made.id}${end}`, { body: { readme: "# hi" } });
      expect([status, json]).toEqual([200, { ...made, readme: "# hi" }]);
    },
  );

  test("of category and kind is not taken", async () => {
    await using there = await world();
    const { id } = await there.make();
    const body = { category: "AMD", isServerless: true, name: "new" };
    const { json } = await there.call("PATCH", `${TEMPLATES}/${id}`, { body });
    expect(json).toMatchObject({ name: "new", category: "NVIDIA", isServerless: false });
  });

  test("to a name that is taken: 400", async () => {
    await using there = await world();
    await there.make();
    const { id } = await there.make({ ...TEMPLATE, name: "b" });
    const { status, json } = await there.call("PATCH", `${TEMPLATES}/${id}`, { body: { name: "sd" } });
    expect([status, json.message]).toEqual([400, "A template named 'sd' already exists."]);
  });
});

describe("a list", () => {
  test("is a bare array of the account's own, the newest first", async () => {
    await using there = await world();
    const first = await there.make();
    await there.clock.advance(1);
    const second = await there.make({ ...TEMPLATE, name: "b" });
    expect((await there.call("GET", TEMPLATES)).json).toEqual([second, first]);
  });

  test("has official and public ones where they are asked for", async () => {
    await using there = await world();
    const key = await there.strangersKey();
    await there.call("POST", TEMPLATES, { key, body: { name: "theirs", imageName: "busybox", isPublic: true } });
    const own = await there.make();
    const names = async (query: string) =>
      ((await there.call("GET", `${TEMPLATES}${query}`)).json as { id: string; name: string; isRunpod: boolean }[])
        .filter(({ id }) => id !== own.id)
        .map(({ name, isRunpod }) => (isRunpod ? "official" : name));
    expect(await names("")).toEqual([]);
    expect(await names("?includePublicTemplates=true")).toEqual(["theirs"]);
    expect(new Set(await names("?includeRunpodTemplates=true"))).toEqual(new Set(["official"]));
  });
});

test("what is made through REST v2 reads the same, and back", async () => {
  await using there = await world();
  const body = { name: "v2", image: "busybox", disk: 7, mounts: { persistent: { size: 12, path: "/data" } } };
  const { id } = (await there.call("POST", "/v2/templates", { body })).json;
  const { json } = await there.call("GET", `${TEMPLATES}/${id}`);
  expect(json).toMatchObject({ imageName: "busybox", containerDiskInGb: 7, volumeInGb: 12, volumeMountPath: "/data" });
  const back = await there.make({ ...TEMPLATE, volumeInGb: 30, dockerStartCmd: ["a"] });
  expect((await there.call("GET", `/v2/templates/${back.id}`)).json).toMatchObject({
    ...{ image: "busybox:1", disk: 50, mounts: { persistent: { size: 30, path: "/workspace" } }, cmd: ["a"] },
  });
});

test("it is deleted with 204, and not while something was made from it", async () => {
  await using there = await world();
  const { id } = await there.make({ ...TEMPLATE, isServerless: true });
  const { json } = await there.call("POST", "/v2/serverless", { body: { templateId: id } });
  expect((await there.call("DELETE", `${TEMPLATES}/${id}`)).status).toBe(400);
  await there.call("DELETE", `/v2/serverless/${json.id}`);
  expect((await there.call("DELETE", `${TEMPLATES}/${id}`)).status).toBe(204);
});
