/** Network volumes through REST v1. */
import { describe, expect, test } from "vitest";
import { giveVolumesAPlace, usedVolume } from "../../../tests/volume-doc.ts";
import { setup } from "../../../tests/world.ts";

const VOLUMES = "/v1/networkvolumes";
const VOLUME = { name: "models", size: 50, dataCenterId: "EU-RO-1" };

async function world() {
  const made = await setup();
  giveVolumesAPlace(made);
  return { ...made, make: async (body: object = VOLUME) => (await made.call("POST", VOLUMES, { body })).json };
}

test("a new one is answered with 200, and has id, name, size and data center", async () => {
  await using there = await world();
  const { status, json } = await there.call("POST", VOLUMES, { body: VOLUME });
  expect([status, json]).toEqual([200, { id: expect.stringMatching(/^[a-z0-9]{14}$/), type: "STANDARD", ...VOLUME }]);
  expect((await there.call("GET", `${VOLUMES}/${json.id}`)).json).toEqual(json);
});

test("a list is a bare array, the newest first", async () => {
  await using there = await world();
  expect((await there.call("GET", VOLUMES)).json).toEqual([]);
  const first = await there.make();
  await there.clock.advance(1);
  const second = await there.make({ ...VOLUME, name: "data" });
  expect((await there.call("GET", VOLUMES)).json).toEqual([second, first]);
});

test.each(["PATCH ", "POST /update"])("it is renamed and grows by %s, and what is not sent stays", async (how) => {
  await using there = await world();
  const { id } = await there.make();
  const [method, end] = how.split(" ") as [string, string];
  const change = (body: object) => there.call(method, `${VOLUMES}/${id}${end}`, { body });
  expect((await change({ name: "weights" })).json).toMatchObject({ name: "weights", size: 50 });
  expect((await change({ size: 60 })).json).toMatchObject({ name: "weights", size: 60 });
  expect(await change({ size: 40 })).toMatchObject({
    status: 400,
    json: { message: expect.stringContaining("smaller") },
  });
  expect((await change({ dataCenterId: "US-KS-2" })).json).toMatchObject({ dataCenterId: "EU-RO-1" });
});

test("it is the same one in REST v2", async () => {
  await using there = await world();
  const { id } = await there.make();
  const { json } = await there.call("GET", `/v2/network-volumes/${id}`);
  expect(json).toMatchObject({ id, name: "models", size: 50, dataCenter: "EU-RO-1" });
});

describe("deletion", () => {
  test("is answered with 204 and nothing, and it is not found from then on", async () => {
    await using there = await world();
    const { id } = await there.make();
    expect(await there.call("DELETE", `${VOLUMES}/${id}`)).toMatchObject({ status: 204, text: "" });
    expect((await there.call("GET", `${VOLUMES}/${id}`)).status).toBe(404);
  });

  test("is refused while something uses it", async () => {
    await using there = await world();
    const body = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
    const id = await usedVolume(there, (await there.call("POST", "/v2/serverless", { body })).json.id);
    expect((await there.call("DELETE", `${VOLUMES}/${id}`)).status).toBe(400);
  });
});

describe("names", () => {
  test("are unique on creation and on a change of name, and REST v2 stays free", async () => {
    await using there = await world();
    await there.make();
    const taken = { message: expect.stringContaining("has the name 'models'") };
    expect(await there.call("POST", VOLUMES, { body: VOLUME })).toMatchObject({ status: 400, json: taken });
    const { id } = await there.make({ ...VOLUME, name: "data" });
    const renamed = await there.call("PATCH", `${VOLUMES}/${id}`, { body: { name: "models" } });
    expect(renamed).toMatchObject({ status: 400, json: taken });
    const body = { name: "models", size: 10, dataCenter: "EU-RO-1" };
    expect((await there.call("POST", "/v2/network-volumes", { body })).status).toBe(201);
  });
});
