/** Where a worker finds room, and what is reported if there is none. */
import { describe, expect, test } from "vitest";
import { type Box, ONLY_BOX } from "../ports/compute/compute.ts";
import type { Need, Terms } from "./need.ts";
import type { Machine, Place } from "./place.ts";
import { Room } from "./room.ts";

const short = (text: string) => expect.objectContaining({ code: "no-capacity", text });

const A40 = "NVIDIA A40";
const L4 = "NVIDIA L4";
const DC = "US-KS-2";

const stock = (type: string, count: number) => (count > 0 ? [{ type, count, virtual: false }] : []);

function boxOf({ a40 = 0, l4 = 0, ...rest }: Partial<Box> & { a40?: number; l4?: number } = {}): Box {
  const gpus = [...stock(A40, a40), ...stock(L4, l4)];
  return { id: ONLY_BOX, vcpu: 16, memoryMb: 65_536, diskGb: 100, gpus, ceilings: false, ...rest };
}

function machine(id: string, box: Parameters<typeof boxOf>[0] & Partial<Machine> = {}): Machine {
  const { boxes, dataCenter = DC, isEverywhere, runs, away, ...rest } = box;
  return {
    id,
    boxes: boxes ?? [boxOf(rest)],
    dataCenter,
    ...(isEverywhere && { isEverywhere }),
    ...(runs && { runs }),
    ...(away && { away }),
  };
}

const SMALL: Terms = { diskGb: 20 };
const cpu = (...vcpus: number[]): Need => ({
  ...SMALL,
  kind: "cpu",
  flavors: vcpus.map((vcpu) => ({ id: `cpu${vcpu}`, vcpu, memoryMb: vcpu * 2048 })),
});
const gpu = (count: number, ...types: string[]): Need => ({
  ...SMALL,
  kind: "gpu",
  count,
  types: types.map((type) => ({ type, vcpu: 4, memoryMb: 8192 })),
});
const place = (given: Partial<Place> = {}): Place => ({
  ...{ machine: "m", box: ONLY_BOX, dataCenter: DC, vcpu: 1, memoryMb: 1, diskGb: 0 },
  ...{ flavor: null, gpuType: null, gpuCount: 0 },
  ...given,
});

describe("CPU workers", () => {
  test("take the first flavor that fits", () => {
    expect(new Room([machine("m", { vcpu: 4 })]).take(cpu(8, 2))).toEqual(
      place({ vcpu: 2, memoryMb: 4096, flavor: "cpu2" }),
    );
  });

  test("spread over machines: each goes where most is free", () => {
    const room = new Room([machine("small", { vcpu: 8 }), machine("large", { vcpu: 12 })]);
    const places = [1, 2, 3].map(() => (room.take(cpu(4)) as Place).machine);
    expect(places).toEqual(["large", "small", "large"]);
  });

  test("what others have is not free", () => {
    const taken = [place({ vcpu: 14, memoryMb: 0 })];
    expect(new Room([machine("m")], taken).take(cpu(4))).toEqual({
      reason: short("no capacity: needs 4 vCPU and 8 GB, at most 2 vCPU and 64 GB free on a machine"),
    });
  });

  test("where shares are ceilings there is always room, and nobody gets more than the machine has", () => {
    const room = new Room([machine("laptop", { vcpu: 2, ceilings: true })]);
    for (let i = 0; i < 50; i++) expect(room.take(cpu(32))).toMatchObject({ machine: "laptop", vcpu: 2 });
  });
});

describe("containers, where the engine of a machine is away,", () => {
  const container = { ...cpu(4), runs: "container" as const };
  const away = { container: { why: "the container engine does not answer", isNone: false } };
  const none = { container: { why: "container images are switched off here", isNone: true } };

  test("go to a machine whose engine is there, however much is free on the other", () => {
    const room = new Room([machine("away", { away }), machine("there", { vcpu: 8 })]);
    const places = [1, 2, 3].map(() => room.take(container));
    expect(places.slice(0, 2)).toMatchObject([{ machine: "there" }, { machine: "there" }]);
    expect(places[2]).toEqual({
      reason: short(
        "no capacity: needs 4 vCPU and 8 GB, at most 0 vCPU and 48 GB free on a machine; 1 more machine runs no container images now",
      ),
    });
    expect(room.fitting(container)).toBe(0);
    expect(room.take({ ...container, runs: "host" })).toMatchObject({ machine: "away" });
  });

  test("that belong together go to a machine whose engine is there", () => {
    const room = new Room([machine("away", { away }), machine("there")]);
    expect(room.takeTogether([container, container])).toMatchObject([{ machine: "there" }, { machine: "there" }]);
  });

  test("go there all the same if nothing else suits, so that they can say what is missing", () => {
    expect(new Room([machine("none", { away: none })]).take(container)).toMatchObject({ machine: "none" });
    expect(
      new Room([machine("none", { away: none }), machine("away", { away, vcpu: 4 })]).take(container),
    ).toMatchObject({
      machine: "away",
    });
    const room = new Room([machine("away", { away }), machine("there")]);
    expect(room.take({ ...container, machine: "away" })).toMatchObject({ machine: "away" });
  });
});

describe("GPU workers", () => {
  test("take devices of the first type that is free, with the CPU and memory that go with each", () => {
    const room = new Room([machine("m", { a40: 1, l4: 3 })]);
    expect(room.take(gpu(2, A40, L4))).toEqual(place({ vcpu: 8, memoryMb: 16_384, gpuType: L4, gpuCount: 2 }));
    expect(room.take(gpu(1, A40, L4))).toMatchObject({ gpuType: A40 });
    expect(room.take(gpu(1, A40, L4))).toMatchObject({ gpuType: L4, gpuCount: 1 });
  });

  test("get their part of a machine that has less than the catalog says", () => {
    const room = new Room([machine("m", { a40: 4, vcpu: 6, memoryMb: 16_000 })]);
    expect(room.take(gpu(1, A40))).toMatchObject({ vcpu: 1, memoryMb: 4000 });
    expect(room.take(gpu(2, A40))).toMatchObject({ vcpu: 3, memoryMb: 8000 });
    expect(room.take(gpu(1, A40))).toMatchObject({ vcpu: 1, memoryMb: 4000 });
  });

  test("say what they need and how much of it is free", () => {
    const taken = [0, 1].map(() => place({ gpuType: A40, gpuCount: 1 }));
    expect(new Room([machine("m", { a40: 2 })], taken).take(gpu(1, A40))).toEqual({
      reason: short("no capacity: needs 1x NVIDIA A40, 0 of 2 free"),
    });
  });

  test("say so when the devices are free, but on different machines or without CPU beside them", () => {
    const apart = new Room([machine("m", { a40: 1 }), machine("n", { a40: 1 })]);
    expect(apart.take(gpu(2, A40))).toEqual({
      reason: short("no capacity: needs 2x NVIDIA A40, 2 of 2 free, but not on one machine"),
    });
    const taken = [place({ vcpu: 14, memoryMb: 0 })];
    const crowded = new Room([machine("m", { a40: 1 })], taken);
    expect(crowded.take(gpu(1, A40))).toEqual({
      reason: short("no capacity: needs 1x NVIDIA A40, 1 of 1 free, but too little CPU or memory beside them"),
    });
  });

  test("name a few types at most", () => {
    expect(new Room([machine("m")]).take(gpu(1, "A", "B", "C", "D", "E"))).toEqual({
      reason: short("no capacity: needs 1x A, B or one of 3 other types, 0 of 0 free"),
    });
  });
});

test("without any machine that is the reason", () => {
  expect(new Room([]).take(cpu(2))).toEqual({ reason: short("no capacity: no machine is there to run workers") });
});

describe("terms", () => {
  const withTerms = (terms: Partial<Terms>): Need => ({ ...gpu(1, A40), ...terms });
  const reasonOn = (machines: Machine[], terms: Partial<Terms>) => new Room(machines).take(withTerms(terms));

  test("a machine that it must stay on is the only one that will do", () => {
    const room = new Room([machine("m", { a40: 4 }), machine("n", { a40: 1 })]);
    expect(room.take(withTerms({ machine: "n" }))).toMatchObject({ machine: "n" });
    expect(room.take(withTerms({ machine: "n" }))).toEqual({
      reason: short("no capacity: needs 1x NVIDIA A40, 0 of 1 free"),
    });
    expect(room.take(withTerms({ machine: "gone" }))).toEqual({
      reason: short("no capacity: must be on machine gone"),
    });
  });

  test("volumes: a machine that mounts them, or the shared ones", () => {
    const own = { ...machine("own", { a40: 1 }), volumes: "own" as const };
    const shared = { ...machine("shared", { a40: 1 }), volumes: "shared" as const };
    expect(new Room([own, shared]).take(withTerms({ volumes: "shared" }))).toMatchObject({ machine: "shared" });
    expect(new Room([own]).take(withTerms({ volumes: "any" }))).toMatchObject({ machine: "own" });
    expect(reasonOn([own], { volumes: "shared" })).toEqual({
      reason: short("no capacity: needs a machine that mounts the shared volumes"),
    });
  });

  test("a data center is one of those named, or any where none is", () => {
    const machines = [machine("m", { a40: 1, dataCenter: "EU-RO-1" })];
    expect(new Room(machines).take(withTerms({ dataCenters: ["US-KS-2", "EU-RO-1"] }))).toMatchObject({ machine: "m" });
    const reason = short("no capacity: needs a machine in US-KS-2 or US-CA-1, not in EU-RO-1");
    expect(reasonOn(machines, { dataCenters: ["US-KS-2", "US-CA-1"] })).toEqual({ reason });
  });

  test("CUDA must be as new as it is asked for, or one of those that are listed; a driver that cannot tell is believed to be", () => {
    const on = (cuda?: string) => [machine("m", { a40: 1, ...(cuda && { cuda }) })];
    expect(reasonOn(on("12.4"), { cuda: { atLeast: "12.8" } })).toEqual({
      reason: short("no capacity: needs CUDA 12.8 or later, not 12.4"),
    });
    expect(reasonOn(on("12.10"), { cuda: { atLeast: "12.8" } })).toMatchObject({ machine: "m" });
    expect(reasonOn(on("12.4"), { cuda: { oneOf: ["12.5", "12.6"] } })).toEqual({
      reason: short("no capacity: needs CUDA 12.5 or 12.6, not 12.4"),
    });
    expect(reasonOn(on("12.8"), { cuda: { oneOf: ["12.1"] } })).toEqual({
      reason: short("no capacity: needs CUDA 12.1, not 12.8"),
    });
    expect(reasonOn(on("12.8"), { cuda: { oneOf: ["12.1", "12.8"] } })).toMatchObject({ machine: "m" });
    expect(reasonOn(on(), { cuda: { oneOf: ["12.1"] } })).toMatchObject({ machine: "m" });
    expect(reasonOn(on(), { cuda: { atLeast: "13.0" } })).toMatchObject({ machine: "m" });
  });

  test("the disk must be there; what is kept for one is not there for the next", () => {
    const room = new Room([machine("m", { a40: 4 })]);
    expect(room.take(withTerms({ diskGb: 90 }))).toMatchObject({ diskGb: 0 });
    expect(room.take(withTerms({ diskGb: 90, keepsDisk: true }))).toMatchObject({ diskGb: 90 });
    expect(room.take(withTerms({ diskGb: 11 }))).toEqual({
      reason: short("no capacity: needs 11 GB of disk, at most 10 GB free on a machine"),
    });
  });

  test("a machine runs what it can", () => {
    const machines = [machine("m", { a40: 1, runs: ["container"] })];
    expect(reasonOn(machines, { runs: "host" })).toEqual({
      reason: short("no capacity: needs a machine that runs host images"),
    });
    expect(reasonOn(machines, { runs: "container" })).toMatchObject({ machine: "m" });
  });

  test("a machine of made-up devices stands for every data center, CUDA and disk", () => {
    const terms = { dataCenters: ["EU-RO-1"], cuda: { atLeast: "99.0" }, diskGb: 1_000_000 };
    expect(reasonOn([machine("m", { a40: 1, ceilings: true, cuda: "12.0" })], terms)).toMatchObject({ machine: "m" });
  });

  test("the reason is that of the machine that meets most of them", () => {
    const machines = [machine("far", { a40: 8, dataCenter: "EU-RO-1" }), machine("near", { a40: 8, cuda: "11.8" })];
    expect(reasonOn(machines, { dataCenters: [DC], cuda: { atLeast: "12.0" } })).toEqual({
      reason: short("no capacity: needs CUDA 12.0 or later, not 11.8"),
    });
  });
});

describe("a machine of several boxes", () => {
  test("has room for what fits into one of them", () => {
    const boxes = ["a", "b"].map((id) => boxOf({ id, a40: 2 }));
    const room = new Room([machine("cluster", { boxes })]);
    expect(room.take(gpu(3, A40))).toEqual({
      reason: short("no capacity: needs 3x NVIDIA A40, 4 of 4 free, but not on one machine"),
    });
    const taken = [room.take(gpu(2, A40)), room.take(gpu(2, A40))] as Place[];
    expect(taken.map(({ box }) => box).toSorted()).toEqual(["a", "b"]);
  });
});

describe("a gang", () => {
  test("gets room for all of its members", () => {
    const room = new Room([machine("m", { a40: 2 }), machine("n", { a40: 2 })]);
    const places = room.takeAll([gpu(2, A40), gpu(2, A40)]) as Place[];
    expect(places.map((one) => one.machine).toSorted()).toEqual(["m", "n"]);
  });

  test("of three on room for two holds nothing, and says how far it came", () => {
    const room = new Room([machine("m", { a40: 2 })]);
    expect(room.takeAll([1, 2, 3].map(() => gpu(1, A40)))).toEqual({
      reason: short("no capacity: 2 of 3 would find room: needs 1x NVIDIA A40, 0 of 2 free"),
    });
    expect(room.take(gpu(2, A40))).toMatchObject({ gpuCount: 2 });
  });
});

describe("what has to go with each GPU at least", () => {
  const needing = (count: number, vcpu: number, memoryGb: number): Need => ({
    ...SMALL,
    ...{ kind: "gpu", count },
    types: [{ type: A40, vcpu: 8, memoryMb: 48 * 1024, least: { vcpu, memoryMb: memoryGb * 1024 } }],
  });
  const REASON = "no capacity: needs 1x NVIDIA A40, 2 of 2 free, but none with";

  test("is a part of the machine that is large enough", () => {
    const room = () => new Room([machine("m", { a40: 2, vcpu: 32, memoryMb: 256 * 1024 })]);
    expect(room().take(needing(1, 16, 128))).toMatchObject({ vcpu: 16, memoryMb: 128 * 1024 });
    expect(room().take(needing(1, 17, 0))).toEqual({ reason: short(`${REASON} 17 vCPU for each GPU`) });
    expect(room().take(needing(1, 17, 129))).toEqual({ reason: short(`${REASON} 17 vCPU and 129 GB for each GPU`) });
  });

  test("beside made-up GPUs is what the catalog says of machines with that type, on however small a box", () => {
    const room = () => new Room([machine("laptop", { a40: 2, vcpu: 2, memoryMb: 4096, ceilings: true })]);
    expect(room().take(needing(2, 8, 48))).toMatchObject({ gpuCount: 2, vcpu: 2, memoryMb: 4096 });
    expect(room().take(needing(1, 0, 49))).toEqual({ reason: short(`${REASON} 49 GB for each GPU`) });
    expect(room().take(needing(1, 9, 0))).toEqual({ reason: short(`${REASON} 9 vCPU for each GPU`) });
    expect([room().fitting(needing(1, 8, 48)), room().fitting(needing(1, 9, 48))]).toEqual([2, 0]);
  });

  test("beside made-up GPUs is whatever the box itself has, where that is more", () => {
    const room = new Room([machine("large", { a40: 2, vcpu: 64, memoryMb: 512 * 1024, ceilings: true })]);
    expect(room.take(needing(1, 64, 512))).toMatchObject({ vcpu: 64, memoryMb: 512 * 1024 });
    expect(room.take(needing(2, 64, 0))).toHaveProperty("reason");
  });
});

describe("a machine that stands in every data center", () => {
  const room = () => new Room([machine("m", { isEverywhere: true })]);
  const placed = (dataCenters: string[]) => (room().take({ ...cpu(2), dataCenters }) as Place).dataCenter;

  test("has room wherever an instance wants to be, and at home where it does not care", () => {
    expect([placed(["EU-RO-1"]), placed(["EU-RO-1", DC]), placed([])]).toEqual(["EU-RO-1", DC, DC]);
  });
});

describe("how many fit", () => {
  test("of GPUs as many as there are, with what goes with them", () => {
    const room = new Room([machine("a", { l4: 4 }), machine("b", { l4: 3, vcpu: 4 })]);
    expect([room.fitting(gpu(1, L4)), room.fitting(gpu(2, L4)), room.fitting(gpu(4, L4))]).toEqual([7, 3, 1]);
    expect([room.fitting(gpu(5, L4)), room.fitting(gpu(1, A40))]).toEqual([0, 0]);
  });

  test("only beside what others have, and only where the terms are met", () => {
    const room = new Room([machine("m", { l4: 4 })], [place({ vcpu: 12, memoryMb: 8192, gpuType: L4, gpuCount: 2 })]);
    expect([room.fitting(gpu(1, L4)), room.fitting(cpu(2)), room.fitting(cpu(8))]).toEqual([1, 2, 0]);
    expect(room.fitting({ ...cpu(2), dataCenters: ["EU-RO-1"] })).toBe(0);
  });

  test("any number where shares are ceilings", () => {
    const room = new Room([machine("m", { l4: 4, ceilings: true })]);
    expect([room.fitting(cpu(512)), room.fitting(gpu(2, L4))]).toEqual([Number.POSITIVE_INFINITY, 2]);
  });
});
