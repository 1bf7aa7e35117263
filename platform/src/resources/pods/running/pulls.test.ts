/** The credentials with which Pods pull their images. */
import { expect, test } from "vitest";
import { CPU_POD, setupPods } from "../../../../tests/pod-world.ts";
import { FakeRegistry } from "../../../ports/compute/fake-registry.ts";

const PRIVATE = "registry.example/team/model:1";
const CREDENTIAL = { username: "reader", password: "open sesame" };

async function setup() {
  const registry = new FakeRegistry();
  registry.put(PRIVATE, "content", CREDENTIAL);
  const world = await setupPods({ machine: { registry } });
  const made = (await world.call("POST", "/v2/registries", { body: { name: "team", ...CREDENTIAL } })).json;
  return Object.assign(world, { registry: made.id as string });
}

test("a private image runs with the registry that the Pod names, and not without", async () => {
  await using world = await setup();
  const without = await world.create({ ...CPU_POD, image: PRIVATE });
  expect(await world.pod(without.id)).toMatchObject({
    status: "ERROR",
    statusReason: expect.stringContaining("unauthorized"),
    statusReasonCode: "image-denied",
  });
  const pod = await world.create({ ...CPU_POD, image: PRIVATE, registry: { id: world.registry } });
  expect(await world.pod(pod.id)).toMatchObject({ status: "RUNNING", registry: world.registry });
});

test("a registry that is not there is 404, and one that a Pod names cannot be deleted", async () => {
  await using world = await setup();
  const unknown = await world.call("POST", "/v2/pods", { body: { ...CPU_POD, registry: "aaaaaaaaaaaaaa" } });
  expect([unknown.status, unknown.json.detail]).toEqual([404, "registry not found"]);
  const pod = await world.create(CPU_POD);
  const patch = (registry: unknown) => world.call("PATCH", `/v2/pods/${pod.id}`, { body: { registry } });
  expect((await patch("aaaaaaaaaaaaaa")).status).toBe(404);
  expect((await patch(world.registry)).json.registry).toBe(world.registry);
  const path = `/v2/registries/${world.registry}`;
  const refused = await world.call("DELETE", path);
  expect([refused.status, refused.json.detail]).toEqual([400, expect.stringContaining(`(${pod.id})`)]);
  expect((await patch(null)).json.registry).toBe(null);
  expect((await world.call("DELETE", path)).status).toBe(204);
});
