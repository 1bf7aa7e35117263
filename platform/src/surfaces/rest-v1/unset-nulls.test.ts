/** Generated clients send null for every field that nobody set. It changes nothing, in any operation of REST v1 that takes a body. */
import { expect, test } from "vitest";
import { CLUSTER_GPUS } from "../../../tests/cluster-doc.ts";
import { goodV1 } from "../../../tests/described-calls-v1.ts";
import { idle } from "../../../tests/idle.ts";
import { putVolume } from "../../../tests/volume-doc.ts";
import { setup, type World } from "../../../tests/world.ts";
import type { Operation } from "../../kernel/operation.ts";
import type { TObject } from "../../kernel/schema.ts";
import { FakeCompute } from "../../ports/compute/fake-compute.ts";
import { restV1Document } from "./openapi.ts";
import { restV1Operations } from "./operations.ts";

const all = Object.entries(restV1Operations as Record<string, Operation>).filter(([, operation]) => operation.in);
const creations = all.filter(([, { path }]) => !path.includes("{"));
const updates = all.filter(([, { path }]) => path.includes("{"));

const requiredIn = ({ in: schema }: Operation) => ((schema as TObject).required ?? []) as string[];
const optionalIn = (operation: Operation) =>
  Object.keys((operation.in as TObject).properties).filter((name) => !requiredIn(operation).includes(name));

const withMachine = () => setup({ compute: (clock) => new FakeCompute(clock, CLUSTER_GPUS) });

/** Sends nulls for these fields beside those of a good call. */
async function send(world: World, name: string, { method, path }: Operation, nulls: readonly string[]) {
  const { id = "", body = {} } = await goodV1[name]!(world);
  await idle();
  const before = id && (await world.call("GET", path.replace(/\/update$/, "").replace(/\{\w+\}/, id))).json;
  const sent = { ...Object.fromEntries(nulls.map((field) => [field, null])), ...(id === "" && body) };
  const answer = await world.call(method, path.replace(/\{\w+\}/, id), { body: sent });
  return { before, ...answer };
}

test("every operation with a body is one of these", () => {
  expect(creations.length).toBeGreaterThanOrEqual(5);
  expect(updates.length).toBeGreaterThanOrEqual(8);
});

test.each(creations)("%s makes the same with null for all that nobody set", async (name, operation) => {
  await using plain = await withMachine();
  await using other = await withMachine();
  const made = await send(plain, name, operation, []);
  const withNulls = await send(other, name, operation, optionalIn(operation));
  expect([withNulls.status, withNulls.text]).toEqual([operation.status, withNulls.text]);
  expect(comparable(withNulls.json)).toEqual(comparable(made.json));
});

test.each(creations)("%s refuses null for what is required", async (name, operation) => {
  for (const field of requiredIn(operation)) {
    await using world = await withMachine();
    const { body } = await goodV1[name]!(world);
    const { status, json } = await world.call("POST", operation.path, { body: { ...body, [field]: null } });
    expect([field, status, json.message]).toEqual([field, 400, expect.stringContaining(`$.${field}: must be`)]);
  }
});

test.each(updates)("%s with null for every field changes nothing that is set", async (name, operation) => {
  await using world = await withMachine();
  const { before, status, json } = await send(world, name, operation, optionalIn(operation));
  expect([status, json]).toEqual([200, before]);
});

test("null clears what has a meaning for it: a registry auth, a least CUDA version and network volumes", async () => {
  await using world = await withMachine();
  const post = async (path: string, body: object) => (await world.call("POST", `/v1/${path}`, { body })).json.id;
  const containerRegistryAuthId = await post("containerregistryauth", { name: "hub", username: "u", password: "p" });
  const template = { name: "t", imageName: "busybox", isServerless: true, containerRegistryAuthId };
  const templateId = await post("templates", template);
  const endpoint = { templateId, minCudaVersion: "12.4", networkVolumeId: await putVolume(world) };
  const id = await post("endpoints", endpoint);
  const change = async (path: string, body: object) => (await world.call("PATCH", `/v1/${path}`, { body })).json;

  const bare = await change(`templates/${templateId}`, { containerRegistryAuthId: null });
  expect(bare).not.toHaveProperty("containerRegistryAuthId");
  const cleared = await change(`endpoints/${id}`, { minCudaVersion: null, networkVolumeId: null });
  expect(cleared).toMatchObject({ minCudaVersion: null, networkVolumeIds: [] });
});

test("the document says that every optional field may be null", () => {
  const { schemas } = restV1Document().components as { schemas: Record<string, TObject> };
  const bodies = Object.entries(schemas).filter(([name]) => /(Create|Update)Input$/.test(name));
  expect(bodies.length).toBeGreaterThanOrEqual(8);
  for (const [name, { properties, required = [] }] of bodies)
    for (const [field, schema] of Object.entries(properties)) {
      const forms = ((schema as { anyOf?: { type?: string }[] }).anyOf ?? []).map(({ type }) => type);
      const isNullable = forms.includes("null");
      expect([name, field, isNullable]).toEqual([name, field, !(required as string[]).includes(field)]);
    }
});

/** Ids, times and places differ between two servers. */
function comparable(record: Record<string, unknown>): Record<string, unknown> {
  const ofOneServer = ["id", "userId", "consumerUserId", "templateId", "machineId", "createdAt", "lastStatusChange"];
  return Object.fromEntries(Object.entries(record).filter(([name]) => !ofOneServer.includes(name)));
}
