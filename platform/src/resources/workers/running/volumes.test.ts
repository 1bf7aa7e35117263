/** Endpoints with network volumes: who may use which, where their workers run, and what they mount. */
import { describe, expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../../../tests/fleet-world.ts";
import type { Answer } from "../../../../tests/world.ts";
import { MemorySignals } from "../../../ports/signals/memory-signals.ts";

const VOLUMES = "/v2/network-volumes";
const CPU = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const HERE = "EU-RO-1";

/** The machine has virtual devices, so it counts as standing in every data center. */
const EVERYWHERE = { capacity: { ceilings: true } };

async function makeVolume(world: FleetWorld, dataCenter = HERE, key = world.key): Promise<string> {
  return (await world.call("POST", VOLUMES, { key, body: { name: "models", size: 50, dataCenter } })).json.id;
}

const create = (world: FleetWorld, more: object): Promise<Answer> =>
  world.call("POST", "/v2/serverless", { body: { ...CPU, ...more } });
const change = (world: FleetWorld, body: object): Promise<Answer> =>
  world.call("PATCH", `/v2/serverless/${world.endpoint}`, { body });

describe("an endpoint", () => {
  test("shows the volumes that it was given, and a change of them makes a release", async () => {
    await using world = await setupFleet();
    const volume = await makeVolume(world);
    expect((await create(world, { networkVolumes: [volume] })).json.networkVolumes).toEqual([volume]);
    expect((await change(world, { networkVolumes: [volume] })).json.networkVolumes).toEqual([volume]);
    const { json } = await world.call("GET", `/v2/serverless/${world.endpoint}/releases`);
    const diff = [{ field: "networkVolumeIds", old: [], new: [volume] }];
    expect([json.endpointVersion, json.releases[0].diff]).toEqual([2, diff]);
  });

  test("404 for a volume that is not there, or another account's", async () => {
    await using world = await setupFleet();
    const foreign = await makeVolume(world, HERE, await world.strangersKey());
    for (const id of ["aaaaaaaaaaaaaa", foreign])
      for (const asked of [create(world, { networkVolumes: [id] }), change(world, { networkVolumes: [id] })])
        expect([(await asked).status, (await asked).json.detail]).toEqual([404, "network volume not found"]);
  });

  test("400 for one outside the data centers that it names, also when these change", async () => {
    await using world = await setupFleet({ machine: EVERYWHERE });
    const volume = await makeVolume(world);
    const made = await create(world, { networkVolumes: [volume], dataCenterIds: ["US-KS-2"] });
    const detail = `Network volume '${volume}' is in 'EU-RO-1', which is not one of 'dataCenterIds': name it there too, or none.`;
    expect([made.status, made.json.detail]).toEqual([400, detail]);
    expect((await change(world, { networkVolumes: [volume] })).status).toBe(200);
    expect((await change(world, { dataCenterIds: ["US-KS-2"] })).json.detail).toBe(detail);
  });

  test("400 for two in one data center, between which no worker could choose", async () => {
    await using world = await setupFleet();
    const [first, second] = [await makeVolume(world), await makeVolume(world)];
    const { status, json } = await create(world, { networkVolumes: [first, second] });
    const detail = `Network volumes '${first}' and '${second}' are both in 'EU-RO-1': an endpoint has one in each data center.`;
    expect([status, json.detail]).toEqual([400, detail]);
  });

  test("403 for a key that is narrowed to it and would give it one that it does not have", async () => {
    await using world = await setupFleet();
    const body = { networkVolumes: [await makeVolume(world)] };
    const key = await world.newKey({ scopes: ["serverless:write"], endpoints: [world.endpoint] });
    const patch = () => world.call("PATCH", `/v2/serverless/${world.endpoint}`, { key, body });
    expect((await patch()).status).toBe(403);
    await change(world, body);
    expect((await patch()).status).toBe(200);
  });

  test("keeps its volume from being deleted, and the refusal names it", async () => {
    await using world = await setupFleet();
    const volume = await makeVolume(world);
    await change(world, { networkVolumes: [volume] });
    const { status, json } = await world.call("DELETE", `${VOLUMES}/${volume}`);
    expect(status).toBe(400);
    expect(json.detail).toMatch(/^This network volume is in use by endpoint '/);
    expect(json.detail).toContain(`(${world.endpoint})`);
    await change(world, { networkVolumes: [] });
    expect((await world.call("DELETE", `${VOLUMES}/${volume}`)).status).toBe(204);
  });
});

describe("its workers", () => {
  test("mount it and are told of it", async () => {
    await using world = await setupFleet();
    const volume = await makeVolume(world);
    await change(world, { networkVolumes: [volume], workers: { min: 2, max: 2 } });
    await world.pass(2);
    const mounts = [{ volume, path: "/runpod-volume" }];
    expect(world.running().map(({ instance }) => instance.spec.mounts)).toEqual([mounts, mounts]);
    const told = { MILLRACE_VOLUME_ID: volume, RUNPOD_VOLUME_ID: volume, RUNPOD_DC_ID: HERE };
    expect(world.running()[0]?.env).toMatchObject(told);
    expect((await world.records()).map(({ volumes }) => volumes)).toEqual([[volume], [volume]]);
  });

  test("have none without one", async () => {
    await using world = await setupFleet({ endpoint: { workers: { min: 1, max: 1 } } });
    await world.pass(1);
    const [program] = world.running();
    expect([program?.instance.spec.mounts, program?.env.RUNPOD_VOLUME_ID]).toEqual([undefined, ""]);
  });

  test("mount the one of their data center, of several the first that has room", async () => {
    await using world = await setupFleet({ machine: EVERYWHERE });
    const [far, near] = [await makeVolume(world, "US-KS-2"), await makeVolume(world, HERE)];
    await change(world, { networkVolumes: [far, near], workers: { min: 1, max: 1 } });
    await world.pass(2);
    const [program] = world.running();
    expect(program?.instance.spec.mounts).toEqual([{ volume: far, path: "/runpod-volume" }]);
    expect(program?.env).toMatchObject({ RUNPOD_VOLUME_ID: far, RUNPOD_DC_ID: "US-KS-2" });
  });

  test("start once it is made, also when its machine could not make it before", async () => {
    await using world = await setupFleet();
    const volumes = world.compute.volumes!;
    const really = volumes.create.bind(volumes);
    volumes.create = () => Promise.reject(new Error("the disk is full"));
    const volume = await makeVolume(world);
    volumes.create = really;
    await change(world, { networkVolumes: [volume], workers: { min: 1, max: 1 } });
    await world.pass(1);
    expect(world.running()[0]?.instance.spec.mounts).toEqual([{ volume, path: "/runpod-volume" }]);
  });

  test("run on the machine that has it, and nowhere else", async () => {
    const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
    await using first = await setupFleet({ signals, machine: { name: "first", capacity: { vcpu: 4, diskGb: 9000 } } });
    const more = { signals, store: first.store, found: first, endpoint: first.endpoint };
    await using second = await setupFleet({ ...more, machine: { name: "second", capacity: { vcpu: 64 } } });
    const pass = async (seconds: number) => {
      for (let s = 0; s < seconds; s++) {
        await first.pass(1);
        await second.settle();
      }
    };
    await pass(6);
    const volume = await makeVolume(second, HERE, first.key);
    await change(first, { networkVolumes: [volume], workers: { min: 3, max: 3 } });
    await pass(6);
    expect([first.running().length, second.running().length]).toEqual([2, 0]);
    expect((await first.records()).find(({ state }) => state === "WANTED")?.reason?.code).toBe("no-capacity");
  });
});
