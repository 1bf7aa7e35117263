/** The own container of an endpoint that follows no template, shown as a template. */
import { describe, expect, test } from "vitest";
import { setup as setupWorld, type World } from "../../../tests/world.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { TemplateTerms } from "../templates/fields.ts";

const OWN = { name: "e", image: "example/own:1", env: { A: "1" }, disk: 7, args: "run it", gpu: { pools: ["ADA_24"] } };
const BOUND = { bound: true };
const REACHES = { reaches: true };

async function setup() {
  const world = await setupWorld();
  const { templates } = world.services;
  const caller = callerOf(world);
  const { id } = (await world.call("POST", "/v2/serverless", { body: OWN })).json as { id: string };
  return {
    world,
    caller,
    id,
    templates,
    see: (by = caller) => templates.visible(by, id, BOUND),
    edit: (terms: TemplateTerms, by = caller) => templates.update(by, id, terms, REACHES),
    endpoint: async () => (await world.call("GET", `/v2/serverless/${id}`)).json,
  };
}

const callerOf = ({ owner }: World, more: Partial<Caller> = {}): Caller => ({
  ...owner,
  ...{ key: "k", grants: ["all"], exempt: false },
  ...more,
});

test("is read under the endpoint's own id, by who may read the endpoint", async () => {
  const { world, id, see } = await setup();
  await using _ = world;
  const { name, image, env, disk, args } = OWN;
  expect(await see()).toMatchObject({
    ...{ id, boundTo: id },
    doc: { name, image, env, disk, args, cmd: ["run", "it"], serverless: true, public: false, category: "NVIDIA" },
  });
  const stranger = callerOf(world, await world.services.accounts.create("other", "o@localhost"));
  await expect(see(stranger)).rejects.toThrow("template not found");
  await expect(see(callerOf(world, { endpoints: ["other"] }))).rejects.toMatchObject({ code: "not-allowed" });
  await expect(see(callerOf(world, { grants: ["templates:read"] }))).rejects.toMatchObject({ code: "not-allowed" });
  expect(await see(callerOf(world, { endpoints: [id], grants: ["serverless:read"] }))).toMatchObject({ id });
});

test("is no template of REST v2", async () => {
  const { world, id } = await setup();
  await using _ = world;
  const path = `/v2/templates/${id}`;
  expect((await world.call("GET", path)).status).toBe(404);
  expect((await world.call("PATCH", path, { body: { disk: 9 } })).status).toBe(404);
  expect((await world.call("DELETE", path)).status).toBe(404);
  expect((await world.call("POST", "/v2/serverless", { body: { templateId: id } })).status).toBe(404);
  expect((await world.call("GET", "/v2/templates")).json.templates).toEqual([]);
});

test("is listed among the bound ones alone, to who may read endpoints", async () => {
  const { world, id, caller, templates } = await setup();
  await using _ = world;
  expect((await templates.list(caller, { limit: 10 })).items).toEqual([]);
  expect((await templates.listBound(caller)).map((one) => one.id)).toEqual([id]);
  expect(await templates.listBound(callerOf(world, { grants: ["templates:read"] }))).toEqual([]);
  expect(await templates.listBound(callerOf(world, { endpoints: ["other"] }))).toEqual([]);
});

describe("an edit", () => {
  test("is one of the endpoint: a release for the container, none for what it is called", async () => {
    const { world, id, edit, see, endpoint } = await setup();
    await using _ = world;
    await edit({ name: "called" });
    expect([(await see()).doc.name, (await endpoint()).name]).toEqual(["called", "e"]);
    const { doc } = await edit({ image: "example/own:2", env: { B: "2" } });
    expect(doc).toMatchObject({ name: "called", image: "example/own:2", env: { B: "2" }, disk: 7 });
    expect(await endpoint()).toMatchObject({ name: "e", image: "example/own:2", env: { B: "2" }, disk: 7 });
    const { releases } = (await world.call("GET", `/v2/serverless/${id}/releases`)).json;
    expect(releases.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
  });

  test("of what an endpoint has nowhere to keep is refused, unless it says what is so", async () => {
    const { world, id, edit, see } = await setup();
    await using _ = world;
    const why = `This template is the own configuration of endpoint 'e' (${id}), which has no 'readme' to change.`;
    await expect(edit({ readme: "# r", disk: 9 })).rejects.toThrow(why);
    const { doc } = await see();
    expect((await edit(doc)).doc).toEqual(doc);
  });

  test("is refused to who may not change endpoints, and to others", async () => {
    const { world, edit, endpoint } = await setup();
    await using _ = world;
    const stranger = callerOf(world, await world.services.accounts.create("other", "o@localhost"));
    await expect(edit({ disk: 9 }, stranger)).rejects.toThrow("template not found");
    await expect(edit({ disk: 9 }, callerOf(world, { grants: ["templates:write"] }))).rejects.toThrow(
      "serverless:write",
    );
    expect((await endpoint()).disk).toBe(7);
  });
});

test("goes with its endpoint, and not without it", async () => {
  const { world, id, caller, templates, see } = await setup();
  await using _ = world;
  await expect(templates.remove(caller, id, BOUND)).rejects.toThrow(`own configuration of endpoint '${id}'`);
  expect((await world.call("DELETE", `/v2/serverless/${id}`)).status).toBe(204);
  await expect(see()).rejects.toThrow("template not found");
  await expect(templates.remove(caller, id, BOUND)).rejects.toThrow("template not found");
});

test("is copied to another endpoint that names it, and followed by none", async () => {
  const { world, id, caller } = await setup();
  await using _ = world;
  const made = await world.services.endpoints.create(caller, { name: "copy", templateId: id }, { follows: true });
  expect(made.doc).toMatchObject({ image: OWN.image, env: OWN.env });
  expect(made.doc.follows).toBeUndefined();
});
