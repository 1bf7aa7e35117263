/** Registries through REST v1, which calls them registry auths. */
import { expect, test } from "vitest";
import { setup } from "../../../tests/world.ts";

const AUTHS = "/v1/containerregistryauth";
const AUTH = { name: "hub", username: "me", password: "not-to-be-seen" };

test("a new one is answered with 200, its id and its name, and never with what opens it", async () => {
  await using world = await setup();
  const { status, json } = await world.call("POST", AUTHS, { body: AUTH });
  expect([status, json]).toEqual([200, { id: expect.any(String), name: "hub" }]);
  expect((await world.call("GET", `${AUTHS}/${json.id}`)).json).toEqual(json);
  expect((await world.call("GET", AUTHS)).json).toEqual([json]);
});

test.each(["name", "username", "password"])("it needs a %s", async (field) => {
  await using world = await setup();
  const { status, json } = await world.call("POST", AUTHS, { body: { ...AUTH, [field]: undefined } });
  expect([status, json.message]).toEqual([400, expect.stringContaining(`property '${field}' is required`)]);
});

test("a name is taken once: 400", async () => {
  await using world = await setup();
  await world.call("POST", AUTHS, { body: AUTH });
  const { status, json } = await world.call("POST", AUTHS, { body: AUTH });
  expect([status, json.message]).toEqual([400, "A registry named 'hub' already exists."]);
});

test("it is deleted with 204, and there is nothing to update it by", async () => {
  await using world = await setup();
  const { id } = (await world.call("POST", AUTHS, { body: AUTH })).json;
  expect((await world.call("PATCH", `${AUTHS}/${id}`, { body: { name: "other" } })).status).toBe(405);
  expect((await world.call("DELETE", `${AUTHS}/${id}`)).status).toBe(204);
  expect((await world.call("GET", `${AUTHS}/${id}`)).status).toBe(404);
});
