/** The catalog: sends the documents of public clients, one by one. */
import { describe, expect, test } from "vitest";
import { setupFleet } from "../../../tests/fleet-world.ts";
import { ask, dataOf } from "../../../tests/graphql.ts";
import { setup } from "../../../tests/world.ts";
import type { Box } from "../../ports/compute/compute.ts";

const box = (about: Partial<Box> = {}): Box => ({
  ...{ id: "machine", vcpu: 128, memoryMb: 1024 * 1024, diskGb: 1000, ceilings: false, cuda: "12.8" },
  gpus: [{ type: "NVIDIA L4", count: 9, virtual: false }],
  ...about,
});

/** A server with this machine in EU-RO-1. Tests ask it without a key. */
async function withMachine(about: Partial<Box> = {}) {
  const world = await setupFleet({ machine: { capacity: [box(about)] } });
  await world.pass(1);
  return world;
}

interface Row {
  id: string;
  [field: string]: unknown;
}
const named = (rows: Row[], id: string) => rows.find((row) => row.id === id)!;

describe("runpod-python", () => {
  test("get_gpus", async () => {
    await using world = await setup();
    const { gpuTypes } = await dataOf(world, "query GpuTypes { gpuTypes { id displayName memoryInGb } }");
    expect(named(gpuTypes, "NVIDIA A40")).toEqual({ id: "NVIDIA A40", displayName: "A40", memoryInGb: 48 });
  });

  const GPU = (id: string, count: number) => `query GpuTypes {
    gpuTypes(input: {id: "${id}"}) {
      maxGpuCount id displayName manufacturer memoryInGb cudaCores secureCloud communityCloud securePrice communityPrice
      oneMonthPrice threeMonthPrice oneWeekPrice communitySpotPrice secureSpotPrice
      lowestPrice(input: {gpuCount: ${count}}) { minimumBidPrice uninterruptablePrice }
    }
  }`;

  test("get_gpu, with prices for as many GPUs as are asked for", async () => {
    await using world = await withMachine();
    const { gpuTypes } = await dataOf(world, GPU("NVIDIA L4", 2));
    expect(gpuTypes).toEqual([
      {
        ...{
          maxGpuCount: 10,
          id: "NVIDIA L4",
          displayName: "L4",
          manufacturer: "Nvidia",
          memoryInGb: 24,
          cudaCores: 0,
        },
        ...{ secureCloud: true, communityCloud: false, securePrice: 0.49, communityPrice: 0.44 },
        ...{ oneMonthPrice: null, threeMonthPrice: null, oneWeekPrice: null },
        ...{ communitySpotPrice: null, secureSpotPrice: 0.22 },
        lowestPrice: { minimumBidPrice: 0.44, uninterruptablePrice: 0.98 },
      },
    ]);
  });

  test("get_gpu of a type that is not there is an empty list", async () => {
    await using world = await setup();
    expect(await dataOf(world, GPU("NVIDIA L5", 1))).toEqual({ gpuTypes: [] });
  });
});

describe("runpodctl", () => {
  test("get cloud: a variable of its type, rows with memory where there is something, prices above 0", async () => {
    await using world = await withMachine();
    const query = `query LowestPrice($input: GpuLowestPriceInput!) {
      gpuTypes { lowestPrice(input: $input) { gpuName gpuTypeId minimumBidPrice uninterruptablePrice minMemory minVcpu } }
    }`;
    const input = { gpuCount: 1, minMemoryInGb: 20, minVcpuCount: 1, secureCloud: null, totalDisk: 50 };
    const { gpuTypes } = await dataOf(world, query, { variables: { input } });
    const rows = gpuTypes.map(({ lowestPrice }: { lowestPrice: Row }) => lowestPrice);
    expect(rows.filter(({ minMemory }: Row) => minMemory !== null)).toEqual([
      {
        ...{ gpuName: "L4", gpuTypeId: "NVIDIA L4", minimumBidPrice: 0.22, uninterruptablePrice: 0.49 },
        ...{ minMemory: expect.any(Number), minVcpu: expect.any(Number) },
      },
    ]);
    expect(rows).toHaveLength(50);
  });

  test("gpu list: types, and data centers with what is free there", async () => {
    await using world = await withMachine();
    const query = `query { gpuTypes { id displayName memoryInGb secureCloud communityCloud }
      dataCenters { id name location gpuAvailability { gpuTypeId displayName stockStatus } } }`;
    const { dataCenters } = await dataOf(world, query, { more: { variables: null } });
    expect(named(dataCenters, "EU-RO-1")).toEqual({
      ...{ id: "EU-RO-1", name: "EU-RO-1", location: "Europe" },
      gpuAvailability: [{ gpuTypeId: "NVIDIA L4", displayName: "L4", stockStatus: "High" }],
    });
    expect(named(dataCenters, "US-KS-2")).toMatchObject({ location: "United States", gpuAvailability: [] });
    expect(named(dataCenters, "SEA-SG-1").location).toBe("SE Asia");
  });

  test("serverless pools", async () => {
    await using world = await setup();
    const { serverlessGpuPools } = await dataOf(world, "query { serverlessGpuPools { id gpuTypeIds } }");
    expect(named(serverlessGpuPools, "ADA_24")).toEqual({ id: "ADA_24", gpuTypeIds: ["NVIDIA GeForce RTX 4090"] });
  });
});

describe("gpuhunt, without a key", () => {
  test("countries, data centers and counts", async () => {
    await using world = await setup();
    const query =
      "{ countryCodes dataCenters { id, name, listed, } gpuTypes { id maxGpuCount manufacturer __typename } }";
    const { countryCodes, dataCenters, gpuTypes } = await dataOf(world, query, { key: null });
    expect(countryCodes).toEqual(expect.arrayContaining(["US", "RO", "SG"]));
    expect(named(dataCenters, "EU-RO-1")).toEqual({ id: "EU-RO-1", name: "EU-RO-1", listed: true });
    for (const row of gpuTypes) {
      expect(row).toMatchObject({ maxGpuCount: expect.any(Number), __typename: "GpuType" });
      expect(row.manufacturer.toLowerCase()).toMatch(/^(nvidia|amd)$/);
    }
  });

  const OFFERS = `query GpuTypes($gpuTypesInput: GpuTypeFilter, $lowestPriceInput: GpuLowestPriceInput) {
    gpuTypes(input: $gpuTypesInput) {
      lowestPrice(input: $lowestPriceInput) {
        minimumBidPrice uninterruptablePrice minVcpu minMemory stockStatus compliance countryCode
      }
      maxGpuCount id nodeGroupDatacenters { id } clusterPrice displayName memoryInGb securePrice communityPrice
      oneMonthPrice threeMonthPrice sixMonthPrice
    }
  }`;
  const asked = {
    secureCloud: true,
    gpuCount: 1,
    minDisk: 1,
    minMemoryInGb: 1,
    minVcpuCount: 1,
    minCudaVersion: "12.4",
  };

  test("offers of a data center: an object for every type, without a price where there is none of it", async () => {
    await using world = await withMachine();
    const offersIn = async (where: object) => {
      const variables = { gpuTypesInput: null, lowestPriceInput: { ...asked, ...where }, undeclared: 1 };
      return (await dataOf(world, OFFERS, { key: null, variables })).gpuTypes as Row[];
    };
    const here = await offersIn({ dataCenterId: "EU-RO-1" });
    expect(named(here, "NVIDIA L4").lowestPrice).toMatchObject({ stockStatus: "High", uninterruptablePrice: 0.49 });
    const nothing = { stockStatus: null, uninterruptablePrice: null, minimumBidPrice: null, minMemory: null };
    expect(named(here, "NVIDIA A40").lowestPrice).toMatchObject(nothing);
    expect(named(await offersIn({ dataCenterId: "US-KS-2" }), "NVIDIA L4").lowestPrice).toMatchObject(nothing);
    const country = named(await offersIn({ countryCode: "RO" }), "NVIDIA L4");
    expect(country.lowestPrice).toMatchObject({ stockStatus: "High", countryCode: "RO" });
  });

  test("offers for clusters", async () => {
    await using world = await withMachine();
    const variables = { gpuTypesInput: { cluster: true }, lowestPriceInput: asked };
    const { gpuTypes } = await dataOf(world, OFFERS, { key: null, variables });
    expect(named(gpuTypes, "NVIDIA A40").clusterPrice).toBeGreaterThan(0);
    expect(named(gpuTypes, "NVIDIA GeForce RTX 3070")).toBeUndefined();
  });

  test("CPU flavors in a data center", async () => {
    await using world = await withMachine();
    const query = `query ($dataCenterId: String) { cpuFlavors { id displayName minVcpu maxVcpu ramMultiplier
      specifics(input: {dataCenterId: $dataCenterId}) { stockStatus securePrice slsPrice } } }`;
    const { cpuFlavors } = await dataOf(world, query, { key: null, variables: { dataCenterId: "EU-RO-1" } });
    expect(named(cpuFlavors, "cpu3c")).toEqual({
      ...{ id: "cpu3c", displayName: "Compute-Optimized", minVcpu: 2, maxVcpu: 32, ramMultiplier: 2 },
      specifics: { stockStatus: "High", securePrice: 0.06, slsPrice: 0.06 },
    });
    const elsewhere = await dataOf(world, query, { variables: { dataCenterId: "US-KS-2" } });
    expect(named(elsewhere.cpuFlavors, "cpu3c").specifics).toMatchObject({ stockStatus: null, securePrice: 0.06 });
  });
});

describe("SkyPilot", () => {
  test("a type with all of its lowest price", async () => {
    await using world = await withMachine();
    const query = `query { gpuTypes(input: {id: "NVIDIA L4"}) { lowestPrice(input: {gpuCount: 4, secureCloud: true}) {
      minimumBidPrice uninterruptablePrice minVcpu minMemory stockStatus compliance maxUnreservedGpuCount availableGpuCounts
      rentedCount totalCount rentalPercentage supportPublicIp } } }`;
    const { gpuTypes } = await dataOf(world, query);
    expect(gpuTypes[0].lowestPrice).toMatchObject({
      ...{ minimumBidPrice: 0.88, uninterruptablePrice: 1.96, stockStatus: "Medium", compliance: null },
      ...{ maxUnreservedGpuCount: 9, availableGpuCounts: [1, 2, 3, 4, 5, 6, 7, 8, 9], supportPublicIp: true },
      ...{ rentedCount: 0, totalCount: 9, rentalPercentage: 0 },
    });
  });

  test("a flavor in one size", async () => {
    await using world = await withMachine();
    const query = `query { cpuFlavors(input: {id: "cpu5c"}) {
      id groupId displayName minVcpu maxVcpu vcpuBurstable ramMultiplier diskLimitPerVcpu
      specifics(input: {instanceId: "cpu5c-4-8", dataCenterId: "EU-RO-1"}) { stockStatus securePrice slsPrice } } }`;
    expect((await dataOf(world, query)).cpuFlavors).toEqual([
      {
        ...{ id: "cpu5c", groupId: "cpu5", displayName: "Compute-Optimized", minVcpu: 2, maxVcpu: 32 },
        ...{ vcpuBurstable: false, ramMultiplier: 2, diskLimitPerVcpu: 15 },
        specifics: { stockStatus: "High", securePrice: 0.14, slsPrice: expect.any(Number) },
      },
    ]);
  });
});

describe("others", () => {
  test("flash: stock of several types with lists that are empty", async () => {
    await using world = await withMachine();
    const query = `query ($ids: [String], $input: GpuLowestPriceInput) {
      gpuTypes(input: {ids: $ids}) { id lowestPrice(input: $input) { stockStatus } } }`;
    const input = { gpuCount: 1, includeAiApi: false, allowedCudaVersions: [], compliance: [], dataCenterId: "" };
    const { gpuTypes } = await dataOf(world, query, { variables: { ids: ["NVIDIA L4", "NVIDIA A40"], input } });
    expect(gpuTypes).toEqual([
      { id: "NVIDIA A40", lowestPrice: { stockStatus: null } },
      { id: "NVIDIA L4", lowestPrice: { stockStatus: "High" } },
    ]);
  });

  test("runpod-mcp: capacity by CUDA", async () => {
    await using world = await withMachine();
    const query = (
      cuda: string,
    ) => `{ gpuTypes(input: {id: "NVIDIA L4"}) { lowestPrice(input: {gpuCount: 1, allowedCudaVersions: ["${cuda}"]}) {
      stockStatus uninterruptablePrice gpuTypeCudaVersions { cudaVersion availability } } } }`;
    const found = (await dataOf(world, query("12.8"), { key: null })).gpuTypes[0].lowestPrice;
    expect(found.gpuTypeCudaVersions).toEqual([{ cudaVersion: "12.8", availability: "AVAILABLE" }]);
    expect(found.stockStatus).toBe("High");
    for (const other of ["12.4", "13.0"]) {
      const none = (await dataOf(world, query(other), { key: null })).gpuTypes[0].lowestPrice;
      expect([none.stockStatus, none.uninterruptablePrice]).toEqual([null, null]);
    }
  });

  test("aliases of one field have arguments of their own: clouds (Go SDK), data centers (scrapers)", async () => {
    await using world = await withMachine({ gpus: [{ type: "NVIDIA GeForce RTX 4090", count: 1, virtual: false }] });
    const query = `{ gpuTypes(input: {id: "NVIDIA GeForce RTX 4090"}) {
      secure: lowestPrice(input: {gpuCount: 1, secureCloud: true}) { uninterruptablePrice stockStatus }
      community: lowestPrice(input: {gpuCount: 1, secureCloud: false}) { uninterruptablePrice stockStatus }
      any: lowestPrice { uninterruptablePrice }
      many: lowestPrice(input: {gpuCount: 8}) { uninterruptablePrice stockStatus }
      kansas: lowestPrice(input: {gpuCount: 1, dataCenterId: "US-KS-2"}) { uninterruptablePrice stockStatus } } }`;
    expect((await dataOf(world, query)).gpuTypes[0]).toEqual({
      secure: { uninterruptablePrice: 0.74, stockStatus: "Low" },
      community: { uninterruptablePrice: 0.34, stockStatus: "Low" },
      any: { uninterruptablePrice: 0.34 },
      many: { uninterruptablePrice: null, stockStatus: null },
      kansas: { uninterruptablePrice: null, stockStatus: null },
    });
  });

  test.each([
    ["disk", "totalDisk: 5000"],
    ["memory", "minMemoryInGb: 5000"],
    ["vCPU", "minVcpuCount: 500"],
    ["compliance", "compliance: [ITAR, FISMA_HIGH, HITRUST]"],
    ["a later CUDA", 'minCudaVersion: "13.0"'],
  ])("more %s than there is leaves no stock", async (_what, argument) => {
    await using world = await withMachine();
    const query = `{ gpuTypes(input: {id: "NVIDIA L4"}) { lowestPrice(input: {gpuCount: 1, ${argument}}) { stockStatus } } }`;
    expect((await dataOf(world, query)).gpuTypes).toEqual([{ lowestPrice: { stockStatus: null } }]);
  });

  test("runpod-go-sdk: what is free in data centers, for so many GPUs", async () => {
    await using world = await withMachine();
    const query = `query ($input: GpuAvailabilityInput) { dataCenters { id storageSupport
      gpuAvailability(input: $input) { gpuTypeId displayName stockStatus available gpuType { id } } } }`;
    const { dataCenters } = await dataOf(world, query, { variables: { input: { gpuCount: 10, secureCloud: true } } });
    expect(named(dataCenters, "EU-RO-1")).toEqual({
      ...{ id: "EU-RO-1", storageSupport: true },
      gpuAvailability: [
        {
          ...{ gpuTypeId: "NVIDIA L4", displayName: "L4", stockStatus: null, available: false },
          gpuType: { id: "NVIDIA L4" },
        },
      ],
    });
  });

  test("an input field that is not there is 400", async () => {
    await using world = await setup();
    const { status, json } = await ask(world, "{ gpuTypes(input: {name: 1}) { id } }");
    expect([status, json.errors[0].message]).toEqual([
      400,
      expect.stringContaining('Field "name" is not defined by type "GpuTypeFilter"'),
    ]);
  });
});
