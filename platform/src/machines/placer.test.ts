/** Where a worker finds room, and what is said when it finds none. */
import { describe, expect, test } from "vitest";
import type { Capacity } from "../ports/compute/compute.ts";
import { type Need, type Place, Room } from "./placer.ts";

const A40 = "NVIDIA A40";
const L4 = "NVIDIA L4";

function machine(id: string, capacity: Partial<Capacity> & { a40?: number; l4?: number } = {}) {
  const { a40 = 0, l4 = 0, ...rest } = capacity;
  const gpus = [
    ...Array.from({ length: a40 }, (_, i) => ({ id: `${id}-a40-${i}`, type: A40, virtual: false })),
    ...Array.from({ length: l4 }, (_, i) => ({ id: `${id}-l4-${i}`, type: L4, virtual: false })),
  ];
  return { id, capacity: { vcpu: 16, memoryMb: 65_536, diskGb: 100, gpus, ceilings: false, ...rest } };
}

const cpu = (...vcpus: number[]): Need => ({
  kind: "cpu",
  flavors: vcpus.map((vcpu) => ({ vcpu, memoryMb: vcpu * 2048 })),
});
const gpu = (count: number, ...types: string[]): Need => ({
  kind: "gpu",
  count,
  types: types.map((type) => ({ type, vcpu: 4, memoryMb: 8192 })),
});

describe("CPU workers", () => {
  test("take the first flavor that fits", () => {
    expect(new Room([machine("m", { vcpu: 4 })]).take(cpu(8, 2))).toEqual({
      machine: "m",
      vcpu: 2,
      memoryMb: 4096,
      gpuType: null,
      gpus: [],
    });
  });

  test("spread over machines: each goes where most is free", () => {
    const room = new Room([machine("small", { vcpu: 8 }), machine("large", { vcpu: 12 })]);
    const places = [1, 2, 3].map(() => (room.take(cpu(4)) as Place).machine);
    expect(places).toEqual(["large", "small", "large"]);
  });

  test("what others have is not free", () => {
    const taken = [{ machine: "m", vcpu: 14, memoryMb: 0, gpuType: null, gpus: [] }];
    expect(new Room([machine("m")], taken).take(cpu(4))).toEqual({
      reason: "no capacity: needs 4 vCPU and 8 GB, at most 2 vCPU and 64 GB free on a machine",
    });
  });

  test("where shares are ceilings there is always room, and nobody gets more than the machine has", () => {
    const room = new Room([machine("laptop", { vcpu: 2, ceilings: true })]);
    for (let i = 0; i < 50; i++) expect(room.take(cpu(32))).toMatchObject({ machine: "laptop", vcpu: 2 });
  });
});

describe("GPU workers", () => {
  test("take devices of the first type that is free, with the CPU and memory that go with each", () => {
    const room = new Room([machine("m", { a40: 1, l4: 3 })]);
    expect(room.take(gpu(2, A40, L4))).toEqual({
      machine: "m",
      vcpu: 8,
      memoryMb: 16_384,
      gpuType: L4,
      gpus: ["m-l4-0", "m-l4-1"],
    });
    expect(room.take(gpu(1, A40, L4))).toMatchObject({ gpuType: A40 });
    expect(room.take(gpu(1, A40, L4))).toMatchObject({ gpuType: L4, gpus: ["m-l4-2"] });
  });

  test("get their part of a machine that has less than the catalog says", () => {
    const room = new Room([machine("m", { a40: 4, vcpu: 6, memoryMb: 16_000 })]);
    expect(room.take(gpu(1, A40))).toMatchObject({ vcpu: 1, memoryMb: 4000 });
    expect(room.take(gpu(2, A40))).toMatchObject({ vcpu: 3, memoryMb: 8000 });
    expect(room.take(gpu(1, A40))).toMatchObject({ vcpu: 1, memoryMb: 4000 });
  });

  test("say what they need and how much of it is free", () => {
    const taken = [0, 1].map((i) => ({ machine: "m", vcpu: 1, memoryMb: 1, gpuType: A40, gpus: [`m-a40-${i}`] }));
    expect(new Room([machine("m", { a40: 2 })], taken).take(gpu(1, A40))).toEqual({
      reason: "no capacity: needs 1x NVIDIA A40, 0 of 2 free",
    });
  });

  test("say so when the devices are free, but on different machines or without CPU beside them", () => {
    const apart = new Room([machine("m", { a40: 1 }), machine("n", { a40: 1 })]);
    expect(apart.take(gpu(2, A40))).toEqual({
      reason: "no capacity: needs 2x NVIDIA A40, 2 of 2 free, but not on one machine",
    });
    const taken = [{ machine: "m", vcpu: 14, memoryMb: 0, gpuType: null, gpus: [] }];
    const crowded = new Room([machine("m", { a40: 1 })], taken);
    expect(crowded.take(gpu(1, A40))).toEqual({
      reason: "no capacity: needs 1x NVIDIA A40, 1 of 1 free, but too little CPU or memory beside them",
    });
  });

  test("name a few types at most", () => {
    expect(new Room([machine("m")]).take(gpu(1, "A", "B", "C", "D", "E"))).toEqual({
      reason: "no capacity: needs 1x A, B or one of 3 other types, 0 of 0 free",
    });
  });
});

test("without any machine that is the reason", () => {
  expect(new Room([]).take(cpu(2))).toEqual({ reason: "no capacity: no machine is there to run workers" });
});
