/** The least vCPU and memory per GPU filter machines on every surface, whether the GPUs are real or virtual. */
import { expect, test } from "vitest";
import { dataOf } from "../../../tests/graphql.ts";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { type PodWorld, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

/** A small machine that simulates one with two GPUs. The catalog gives each of them 9 vCPU and 48 GB. */
const MADE_UP = {
  capacity: {
    ...TWO_GPUS.capacity,
    ...{ vcpu: 2, memoryMb: 4096, ceilings: true },
    gpus: [{ type: "NVIDIA A40", count: 2, virtual: true }],
  },
};
const REASON = "1x NVIDIA A40, 2 of 2 free, but none with";

const v1 = (world: PodWorld, said: object) =>
  world.call("POST", "/v1/pods", { body: { imageName: "host:/app", gpuTypeIds: ["NVIDIA A40"], ...said } });
const v2 = (world: PodWorld, said: object) =>
  world.call("POST", "/v2/pods", {
    body: { name: "box", image: "host:/app", gpu: { id: "NVIDIA A40", count: 1, ...said } },
  });

test("v2: minRamPerGpu and minVcpuCountPerGpu", async () => {
  await using world = await setupPods({ machine: MADE_UP });
  const { status, json } = await v2(world, { minRamPerGpu: 49 });
  expect([status, json.detail]).toEqual([400, expect.stringContaining(`${REASON} 49 GB for each GPU`)]);
  expect((await v2(world, { minVcpuCountPerGpu: 10 })).json.detail).toContain(`${REASON} 10 vCPU for each GPU`);
  expect((await v2(world, { minRamPerGpu: 48, minVcpuCountPerGpu: 9 })).status).toBe(201);
});

test("v1: minRAMPerGPU and minVCPUPerGPU, where they are said", async () => {
  await using world = await setupPods({ machine: MADE_UP });
  expect((await v1(world, { minRAMPerGPU: 49 })).text).toContain(`${REASON} 49 GB for each GPU`);
  expect((await v1(world, { minVCPUPerGPU: 10 })).text).toContain(`${REASON} 10 vCPU for each GPU`);
  expect((await v1(world, { minRAMPerGPU: 48, minVCPUPerGPU: 9 })).status).toBe(201);
  expect((await v1(world, { name: "other" })).status).toBe(201);
});

test("GraphQL: minMemoryInGb and minVcpuCount of the whole Pod, and no price for what no machine has", async () => {
  await using world = await setupPods({ machine: MADE_UP });
  await world.pass(1);
  const create = "mutation ($input: PodFindAndDeployOnDemandInput) { podFindAndDeployOnDemand(input: $input) { id } }";
  const input = { name: "box", imageName: "host:/app", gpuTypeId: "NVIDIA A40", gpuCount: 2 };
  const { extensions } = await refused(world, create, { input: { ...input, minMemoryInGb: 97 } });
  expect(extensions.reason).toContain("none with 49 GB for each GPU");
  const price = async (said: string) => {
    const query = `{ gpuTypes(input: {id: "NVIDIA A40"}) { lowestPrice(input: {${said}}) { stockStatus uninterruptablePrice } } }`;
    return (await dataOf(world, query)).gpuTypes[0].lowestPrice;
  };
  const none = { stockStatus: null, uninterruptablePrice: null };
  expect(await price("gpuCount: 2, minMemoryInGb: 97")).toEqual(none);
  expect(await price("gpuCount: 1, minVcpuCount: 10")).toEqual(none);
  expect(await price("gpuCount: 2, minMemoryInGb: 96, minVcpuCount: 18")).toEqual({
    stockStatus: "Low",
    uninterruptablePrice: 0.88,
  });
  expect(
    (await told(world, create, { input: { ...input, minMemoryInGb: 96 } })).podFindAndDeployOnDemand.id,
  ).toBeDefined();
});
