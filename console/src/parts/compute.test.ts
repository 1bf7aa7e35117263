/** How choices of GPU types become requests, and what they cost. */
import { describe, expect, it } from "vitest";
import { chosenTypes, cpuWorkerPrice, gpuWorkerPrice, requestFor, toggled, vcpuCounts } from "./compute.ts";

const price = (serverless: number) => ({ secure: 9, community: 9, serverless });
const catalog = [
  { id: "RTX 4090", pool: "ADA_24", price: price(0.4) },
  { id: "L4", pool: "ADA_24", price: price(0.4) },
  { id: "A100", pool: "AMPERE_80", price: price(1.2) },
  { id: "Old", pool: null, price: { secure: 0.1, community: 0.1 } },
];
const [rtx, l4, a100, old] = catalog as [
  (typeof catalog)[0],
  (typeof catalog)[0],
  (typeof catalog)[0],
  (typeof catalog)[0],
];

describe("the request for GPU types", () => {
  it("names one type by itself, and keeps the other terms", () => {
    expect(requestFor({ count: 2, pools: ["AMPERE_80"] }, [rtx], catalog)).toEqual({ count: 2, id: "RTX 4090" });
  });

  it("names several by their pools, without the types that were not chosen", () => {
    expect(requestFor({}, [a100, rtx], catalog)).toEqual({ pools: ["AMPERE_80", "ADA_24"], excludedTypes: ["L4"] });
  });

  it("is read back as the types that were chosen", () => {
    expect(chosenTypes(requestFor({}, [a100, rtx], catalog), catalog)).toEqual([a100, rtx]);
    expect(chosenTypes({ id: "L4" }, catalog)).toEqual([l4]);
  });

  it("names a type outside all pools as a pool of its own", () => {
    const request = requestFor({}, [old, rtx, l4], catalog);
    expect(request).toEqual({ pools: ["Old", "ADA_24"], excludedTypes: [] });
    expect(chosenTypes(request, catalog)).toEqual([old, rtx, l4]);
  });
});

it("adds a type at the end of a choice, and takes it out again", () => {
  expect(toggled([rtx], old)).toEqual([rtx, old]);
  expect(toggled([rtx, l4], l4)).toEqual([rtx]);
});

describe("the price of a worker", () => {
  it("is a range where types differ, for all GPUs of a worker", () => {
    expect(gpuWorkerPrice([rtx, a100], 2)).toEqual({ least: 0.8, most: 2.4 });
    expect(gpuWorkerPrice([], 1)).toBeUndefined();
  });

  it("is that of all vCPU of a flavor", () => {
    const cpus = [{ id: "cpu3c", price: { securePerVcpu: 0.03, serverlessPerVcpu: 0.02 } }];
    expect(cpuWorkerPrice([{ id: "cpu3c", vcpuCount: 4 }], cpus)).toEqual({ least: 0.08, most: 0.08 });
  });
});

it("offers the powers of two of a flavor", () => {
  expect(vcpuCounts({ vcpu: { min: 2, max: 16 } })).toEqual([2, 4, 8, 16]);
  expect(vcpuCounts({ vcpu: { min: 4, max: 4 } })).toEqual([4]);
});
