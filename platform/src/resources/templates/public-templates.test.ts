/** Public templates: the official ones that come with Millrace, and those of other accounts. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { CPU_POD, setupPods } from "../../../tests/pod-world.ts";
import { setup, type World } from "../../../tests/world.ts";
import { RESOURCE_ID } from "../../kernel/ids.ts";
import { LISTED_LENGTH } from "./model.ts";
import { officialTemplate, officialTemplates } from "./official.ts";

const CATALOG = "/v2/catalog/templates";

interface Listed {
  id: string;
  name: string;
  image: string;
  registry: string | null;
  public: boolean;
}

const listed = async (world: World, source?: string, key?: string): Promise<Listed[]> => {
  const path = source === undefined ? CATALOG : `${CATALOG}?source=${source}`;
  const { status, json } = await world.call("GET", path, { ...(key && { key }) });
  expect([status, json.pagination]).toEqual([200, { nextCursor: null, hasNextPage: false }]);
  return json.templates;
};

const isHost = ({ image }: { image: string }) => image.startsWith("host:");
const make = (world: World, body: object, key?: string) =>
  world.call("POST", "/v2/templates", {
    body: { image: "example/image:1", public: true, ...body },
    ...(key && { key }),
  });

describe("official templates", () => {
  test("are listed by default, and are readable by their ids", async () => {
    await using world = await setup();
    const all = await listed(world);
    expect(all.map(({ id }) => id)).toEqual(officialTemplates.map(({ id }) => id));
    expect(await listed(world, "official")).toEqual(all);
    for (const one of all) expect((await world.call("GET", `/v2/templates/${one.id}`)).json).toEqual(one);
    expect(all.every(({ registry, public: isPublic }) => registry === null && isPublic)).toBe(true);
  });

  test("have a shell, a notebook and an OpenAI-compatible server, on this machine and in containers", () => {
    const ids = ["millrace-shell", "millrace-notebook", "millrace-openai", "ubuntu-shell", "jupyter-notebook"];
    expect(officialTemplates.map(({ id }) => id)).toEqual(expect.arrayContaining([...ids, "ollama-openai"]));
    for (const { doc } of officialTemplates.filter(({ doc }) => isHost(doc))) {
      const program = doc.cmd[1]!;
      expect([program, existsSync(`${doc.image.slice("host:".length)}/${program}`)]).toEqual([program, true]);
    }
  });

  test("have ids that no template of an account can have, and names of their own", () => {
    const ids = officialTemplates.map(({ id }) => id);
    expect(ids.filter((id) => RESOURCE_ID.test(id))).toEqual([]);
    for (const values of [ids, officialTemplates.map(({ doc }) => doc.name)])
      expect(new Set(values).size).toBe(values.length);
    expect(officialTemplate("runpod-ubuntu")?.id).toBe("ubuntu-shell");
  });

  test("are nobody's: they are neither changed nor deleted, and not in the account's own list", async () => {
    await using world = await setup();
    expect((await world.call("PATCH", "/v2/templates/millrace-shell", { body: { disk: 1 } })).status).toBe(404);
    expect((await world.call("DELETE", "/v2/templates/millrace-shell")).status).toBe(404);
    expect((await world.call("GET", "/v2/templates")).json.templates).toEqual([]);
  });

  test("of this machine's files are listed for those who may run them, and readable by all", async () => {
    let owner = "";
    await using world = await setup({
      refusesImage: async (image, account) =>
        image.startsWith("host:") && account !== owner ? { code: "not-allowed", reason: "no" } : undefined,
    });
    owner = world.owner.account;
    const key = await world.strangersKey();
    expect((await listed(world)).some(isHost)).toBe(true);
    const others = await listed(world, "official", key);
    expect([others.length > 0, others.some(isHost)]).toEqual([true, false]);
    expect((await world.call("GET", "/v2/templates/millrace-shell", { key })).status).toBe(200);
  });

  test("make endpoints and Pods", async () => {
    await using world = await setupPods();
    const endpoint = await world.call("POST", "/v2/serverless", { body: { templateId: "millrace-echo" } });
    expect([endpoint.status, endpoint.json.cmd]).toEqual([201, ["node", "worker.ts"]]);
    const { image: _, ...bare } = CPU_POD as typeof CPU_POD & { image: string };
    const pod = await world.call("POST", "/v2/pods", { body: { ...bare, templateId: "runpod-ubuntu" } });
    expect([pod.status, pod.json.image]).toEqual([201, "ubuntu:24.04"]);
  });
});

describe("public templates", () => {
  test("of other accounts are the community's, without registries; those of the installation's owner are verified", async () => {
    await using world = await setup();
    const key = await world.strangersKey();
    const registry = { name: "hub", username: "u", password: "p" };
    const { id } = (await world.call("POST", "/v2/registries", { key, body: registry })).json;
    await make(world, { name: "of-owner" });
    await make(world, { name: "private", public: false });
    await make(world, { name: "of-stranger", registry: id }, key);
    const community = await listed(world, "community");
    expect(community.map(({ name, registry }) => [name, registry])).toEqual([["of-stranger", null]]);
    expect(await listed(world, "community", key)).toEqual([]);
    for (const who of [undefined, key])
      expect((await listed(world, "verified", who)).map(({ name }) => name)).toEqual(["of-owner"]);
  });

  test("of one account are ten at most in the community's, and long ones are read by their ids alone", async () => {
    await using world = await setup({ rateLimits: "off" });
    const key = await world.strangersKey();
    const long = (await make(world, { name: "long", env: { A: "x".repeat(LISTED_LENGTH) } }, key)).json.id;
    expect(await listed(world, "community")).toEqual([]);
    expect((await world.call("GET", `/v2/templates/${long}`)).status).toBe(200);
    for (let n = 0; n < 12; n++) await make(world, { name: `t${n}` }, key);
    expect(await listed(world, "community")).toHaveLength(10);
  });

  test("are 100 at most, the newest", async () => {
    await using world = await setup({ rateLimits: "off" });
    for (let n = 0; n < 101; n++) await make(world, { name: `t${n}` });
    const all = await listed(world, "verified");
    expect(all).toHaveLength(100);
  });
});
