/** The catalog: what is in it, every filter, and what is free now on the machines that are there. */
import { describe, expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { dataOf } from "../../../tests/graphql.ts";
import { setup } from "../../../tests/world.ts";
import { installedCatalog } from "../../catalog/compute.ts";
import type { Box } from "../../ports/compute/compute.ts";

const GPUS = "/v2/catalog/gpus";
const L4 = `${GPUS}/NVIDIA%20L4`;
const CPUS = "/v2/catalog/cpus";
const CENTERS = "/v2/catalog/datacenters";
const ASKED = "include=AVAILABILITY&product=POD";

const box = (about: Partial<Box>): Box => ({
  id: "machine",
  vcpu: 64,
  memoryMb: 256 * 1024,
  diskGb: 1000,
  gpus: [{ type: "NVIDIA L4", count: 9, virtual: false }],
  ceilings: false,
  cuda: "12.8",
  ...about,
});

/** A server with this machine in EU-RO-1, after the server has looked at it. */
async function withMachine(about: Partial<Box> = {}) {
  const world = await setupFleet({ machine: { capacity: [box(about)] } });
  await world.pass(1);
  return world;
}

describe("GPU types", () => {
  test("are listed with prices and pools, and without what is free where nobody asks for that", async () => {
    await using world = await setup();
    const { status, json } = await world.call("GET", GPUS);
    expect([status, json.gpus.length]).toEqual([200, 50]);
    expect(json.gpus.find(({ id }: { id: string }) => id === "NVIDIA GeForce RTX 4090")).toEqual({
      ...{ id: "NVIDIA GeForce RTX 4090", name: "RTX 4090", pool: "ADA_24", manufacturer: "NVIDIA", memory: 24 },
      ...{ secure: true, community: true, price: { secure: 0.74, community: 0.34, serverless: 1.116 } },
      maxCount: { secure: 8, community: 8 },
    });
  });

  test("are found by ids with spaces, and a type in no pool has none", async () => {
    await using world = await setup();
    const { json } = await world.call("GET", `${GPUS}/AMD%20Instinct%20MI300X%20OAM`);
    expect([json.name, json.pool, json.manufacturer]).toEqual(["MI300X", null, "AMD"]);
    const missing = await world.call("GET", `${GPUS}/NVIDIA%20L5`);
    expect([missing.status, missing.json.detail]).toEqual([404, "GPU type not found"]);
  });

  test("say what is free, where and on which CUDA", async () => {
    await using world = await withMachine();
    const { json } = await world.call("GET", `${L4}?${ASKED}`);
    expect(json).toMatchObject({
      availability: "HIGH",
      dataCenters: [{ id: "EU-RO-1", name: "EU Romania 1", availability: "HIGH" }],
      cudaVersions: [{ version: "12.8", available: true }],
    });
    expect(json.virtual).toBeUndefined();
    const other = (await world.call("GET", `${GPUS}/NVIDIA%20A40?${ASKED}`)).json;
    expect(other.availability).toBe("NONE");
    expect(Object.keys(other)).not.toContain("dataCenters");
    expect(Object.keys(other)).not.toContain("cudaVersions");
  });

  test.each([
    [1, "HIGH"],
    [2, "MEDIUM"],
    [4, "MEDIUM"],
    [5, "LOW"],
    [9, "LOW"],
    [10, "NONE"],
  ])("%i at a time of 9: %s", async (count, availability) => {
    await using world = await withMachine();
    expect((await world.call("GET", `${L4}?${ASKED}&count=${count}`)).json.availability).toBe(availability);
  });

  test("what workers hold is not free, within a second", async () => {
    await using world = await withMachine();
    const gpu = { id: "NVIDIA L4", count: 8 };
    const body = { name: "g", image: "host:/gpu", gpu, workers: { min: 1, max: 1 } };
    await world.call("POST", "/v2/serverless", { body });
    await world.pass(2);
    const { json } = await world.call("GET", `${L4}?${ASKED}`);
    expect([json.availability, json.cudaVersions]).toEqual(["LOW", [{ version: "12.8", available: true }]]);
    const two = (await world.call("GET", `${L4}?${ASKED}&count=2`)).json;
    expect([two.availability, two.cudaVersions]).toEqual(["NONE", [{ version: "12.8", available: false }]]);
  });

  test("those that are made up say so wherever stock is told, and are in every data center", async () => {
    const gpus = [{ type: "NVIDIA L4", count: 64, virtual: true }];
    await using world = await withMachine({ gpus, ceilings: true });
    const { json } = await world.call("GET", `${L4}?${ASKED}&cudaVersions=11.8`);
    expect([json.availability, json.virtual, json.dataCenters.length]).toEqual(["HIGH", true, 50]);
    expect(json.dataCenters[0]).toEqual({
      ...{ id: "US-CA-1", name: "US California 1", availability: "HIGH", virtual: true },
    });
    const center = (await world.call("GET", `${CENTERS}/OC-AU-1?include=GPU_AVAILABILITY`)).json;
    expect(center.gpuAvailability).toEqual([{ id: "NVIDIA L4", name: "L4", availability: "HIGH", virtual: true }]);
  });

  test("countries narrow the list, and a single one answers with NONE", async () => {
    await using world = await withMachine();
    const idsIn = async (codes: string) =>
      (await world.call("GET", `${GPUS}?${ASKED}&countryCodes=${codes}`)).json.gpus.map(({ id }: { id: string }) => id);
    expect(await idsIn("RO")).toEqual(["NVIDIA L4"]);
    expect(await idsIn("US,RO")).toEqual(["NVIDIA L4"]);
    expect(await idsIn("US")).toEqual([]);
    expect(await idsIn("ZZ")).toEqual([]);
    const one = await world.call("GET", `${L4}?${ASKED}&countryCodes=US`);
    expect([one.status, one.json.availability, one.json.dataCenters]).toEqual([200, "NONE", undefined]);
  });

  test.each([
    ["cudaVersions=12.4", "NONE"],
    ["cudaVersions=12.9,12.8", "HIGH"],
    ["cudaVersions=12.9", "NONE"],
    ["minCudaVersion=12", "HIGH"],
    ["minCudaVersion=13", "NONE"],
  ])("%s on a machine with CUDA 12.8: %s", async (query, availability) => {
    await using world = await withMachine();
    expect((await world.call("GET", `${L4}?${ASKED}&${query}`)).json.availability).toBe(availability);
  });

  test.each([
    ["include=AVAILABILITY", 400],
    ["product=POD", 400],
    ["count=1", 400],
    ["cloud=SECURE", 400],
    ["countryCodes=US", 400],
    ["cudaVersions=12.8", 400],
    ["minCudaVersion=12", 400],
    [`${ASKED}&cudaVersions=12.8&minCudaVersion=12`, 400],
    ["include=STOCK", 422],
    [`${ASKED},HOUSE`, 422],
    ["include=AVAILABILITY&product=", 422],
    [`${ASKED}&count=0`, 422],
    [`${ASKED}&count=one`, 422],
    [`${ASKED}&cloud=SKY`, 422],
    [`${ASKED}&countryCodes=us`, 422],
    [`${ASKED}&countryCodes=US,USA`, 422],
    [`${ASKED}&cudaVersions=12`, 422],
    [`${ASKED}&minCudaVersion=twelve`, 422],
    [`${ASKED},SERVERLESS,CLUSTER&count=2&cloud=COMMUNITY&minCudaVersion=12.1&countryCodes=US`, 200],
    ["unknown=1", 200],
  ])("?%s: %i, of the list and of one", async (query, status) => {
    await using world = await setup();
    expect((await world.call("GET", `${GPUS}?${query}`)).status).toBe(status);
    expect((await world.call("GET", `${L4}?${query}`)).status).toBe(status);
  });
});

describe("CPU flavors", () => {
  test("have sizes and prices", async () => {
    await using world = await setup();
    const { json } = await world.call("GET", `${CPUS}/cpu5c`);
    expect(json).toEqual({
      ...{ id: "cpu5c", name: "Compute-Optimized", group: "Gen 5", vcpu: { min: 2, max: 32 }, ramGbPerVcpu: 2 },
      price: { securePerVcpu: 0.035, serverlessPerVcpu: 0.035 },
    });
    expect((await world.call("GET", CPUS)).json.cpus).toHaveLength(6);
    expect((await world.call("GET", `${CPUS}/cpu9`)).status).toBe(404);
  });

  test.each([
    ["", "HIGH"],
    ["&vcpuCount=8", "HIGH"],
    ["&vcpuCount=16", "MEDIUM"],
    ["&vcpuCount=32", "MEDIUM"],
    ["&vcpuCount=64", "NONE"],
  ])("of 64 vCPU are free for '%s': %s", async (query, availability) => {
    await using world = await withMachine();
    const { json } = await world.call("GET", `${CPUS}/cpu3c?${ASKED}${query}`);
    expect(json.availability).toBe(availability);
    expect(json.dataCenters).toEqual([{ id: "EU-RO-1", name: "EU Romania 1", availability }]);
  });

  test.each([
    ["include=AVAILABILITY", 400],
    ["product=POD", 400],
    ["vcpuCount=2", 400],
    ["include=AVAILABILITY&product=CLUSTER", 422],
    [`${ASKED}&vcpuCount=3`, 422],
    [`${ASKED}&vcpuCount=1`, 422],
    [`${ASKED},SERVERLESS&vcpuCount=4`, 200],
  ])("?%s: %i", async (query, status) => {
    await using world = await setup();
    expect((await world.call("GET", `${CPUS}?${query}`)).status).toBe(status);
    expect((await world.call("GET", `${CPUS}/cpu3c?${query}`)).status).toBe(status);
  });
});

describe("data centers", () => {
  const idsFor = async (query: string) => {
    await using world = await setup();
    const { status, json } = await world.call("GET", `${CENTERS}?${query}`);
    return status === 200 ? json.dataCenters.map(({ id }: { id: string }) => id) : status;
  };

  test("have a region and the volumes they offer", async () => {
    await using world = await setup();
    expect((await world.call("GET", `${CENTERS}/US-KS-2`)).json).toEqual({
      ...{ id: "US-KS-2", name: "US Kansas 2", region: "NORTH_AMERICA", globalNetwork: true },
      ...{ networkVolumeTypes: ["STANDARD"], compliance: [] },
    });
    expect((await world.call("GET", `${CENTERS}/US-CA-1`)).json.networkVolumeTypes).toEqual([]);
    expect((await world.call("GET", `${CENTERS}/MOON-1`)).status).toBe(404);
  });

  test("are filtered by any of several regions, by all of the others, and by all of these together", async () => {
    expect(await idsFor("regions=OCEANIA,ASIA")).toEqual(["AP-IN-1", "AP-IN-2", "AP-JP-1", "SEA-SG-1", "OC-AU-1"]);
    expect(await idsFor("regions=OCEANIA,ASIA&globalNetwork=true")).toEqual(["OC-AU-1"]);
    expect(await idsFor("regions=OCEANIA&globalNetwork=false")).toEqual([]);
    expect(await idsFor("networkVolumeTypes=STANDARD")).toHaveLength(26);
    expect(await idsFor("networkVolumeTypes=STANDARD,HIGH_PERFORMANCE")).toEqual([]);
    expect(await idsFor("compliance=GDPR")).toEqual([]);
  });

  test.each(["regions=MOON", "networkVolumeTypes=FAST", "compliance=GOOD", "globalNetwork=yes", "include=WEATHER"])(
    "422: %s",
    async (query) => expect(await idsFor(query)).toBe(422),
  );

  test("say what is free there, and nothing where nothing stands", async () => {
    await using world = await withMachine();
    const include = "include=GPU_AVAILABILITY,CPU_AVAILABILITY";
    const { json } = await world.call("GET", `${CENTERS}/EU-RO-1?${include}`);
    expect(json.gpuAvailability).toEqual([{ id: "NVIDIA L4", name: "L4", availability: "HIGH" }]);
    expect(json.cpuAvailability).toHaveLength(6);
    expect(json.cpuAvailability[0]).toEqual({ id: "cpu3c", name: "Compute-Optimized", availability: "HIGH" });
    const empty = (await world.call("GET", `${CENTERS}/US-KS-2?${include}`)).json;
    expect(Object.keys(empty)).not.toContain("gpuAvailability");
    expect(Object.keys(empty)).not.toContain("cpuAvailability");
  });

  test("say what network volumes cost there, to whoever asks", async () => {
    await using world = await withMachine();
    const { json } = await world.call("GET", `${CENTERS}/EU-RO-1?include=VOLUME_PRICES`);
    const { networkVolumePerGbMonth: perGbMonth, networkVolumeBeyondTbPerGbMonth: beyondTbPerGbMonth } =
      installedCatalog().storage;
    expect(json.networkVolumePrices[0]).toEqual({ type: "STANDARD", perGbMonth, beyondTbPerGbMonth });
    expect((await world.call("GET", `${CENTERS}/EU-RO-1`)).json.networkVolumePrices).toBeUndefined();
  });
});

test("what is free is counted once a second, however many ask", async () => {
  await using world = await withMachine();
  let counted = 0;
  const all = world.services.instanceRecords.all.bind(world.services.instanceRecords);
  world.services.instanceRecords.all = () => {
    counted++;
    return all();
  };
  const ask = () => world.call("GET", `${GPUS}?${ASKED}`);
  await Promise.all([ask(), ask(), ask()]);
  expect(counted).toBeLessThanOrEqual(1);
});

test("every key that may read the catalog reads it, one that is narrowed to endpoints too", async () => {
  await using world = await setup();
  const narrowed = await world.newKey({ scopes: ["catalog:read"], endpoints: ["e"] });
  expect((await world.call("GET", GPUS, { key: narrowed })).status).toBe(200);
  const other = await world.newKey({ scopes: ["pods:write"] });
  expect((await world.call("GET", GPUS, { key: other })).status).toBe(403);
});

test("what a cloud does not sell to Pods, or not so many of at once, is free for nobody there", async () => {
  const gpus = [{ type: "NVIDIA L4", count: 64, virtual: true }];
  await using world = await withMachine({ gpus, ceilings: true });
  const free = async (query: string) => {
    const path = `/v2/catalog/gpus/NVIDIA%20L4?include=AVAILABILITY&${query}`;
    return (await world.call("GET", path)).json.availability;
  };
  expect(await free("product=POD")).toBe("HIGH");
  expect(await free("product=POD&cloud=COMMUNITY")).toBe("NONE");
  expect([await free("product=POD&count=10"), await free("product=POD&count=11")]).toEqual(["MEDIUM", "NONE"]);
  expect(await free("product=POD,SERVERLESS&cloud=COMMUNITY")).toBe("HIGH");
  const price = `{ gpuTypes(input: {id: "NVIDIA L4"}) { lowestPrice(input: {gpuCount: 11}) { uninterruptablePrice stockStatus } } }`;
  expect((await dataOf(world, price)).gpuTypes[0].lowestPrice).toEqual({
    uninterruptablePrice: null,
    stockStatus: null,
  });
});
