/** Instances of every kind share the machines. A place that one holds is given to no other, even if both ask at the same moment. */
import { describe, expect, test } from "vitest";
import { workerDoc } from "../../tests/worker-doc.ts";
import { FakeClock } from "../kernel/clock.ts";
import { type InstanceKind, ONLY_BOX } from "../ports/compute/compute.ts";
import { MemoryStore } from "../ports/store/memory-store.ts";
import { Allocator, type Wish } from "./allocator.ts";
import { InstanceRecords } from "./instance-records.ts";
import { type InstanceItem, type KeptInstance, NOWHERE } from "./instances.ts";
import type { Need } from "./need.ts";
import type { Machine, NoRoom, Place } from "./place.ts";

const short = (text: string) => expect.objectContaining({ code: "no-capacity", text });

const A40 = "NVIDIA A40";
const ONE_GPU: Need = { kind: "gpu", diskGb: 1, count: 1, types: [{ type: A40, vcpu: 1, memoryMb: 1024 }] };
const TWO_VCPU: Need = { kind: "cpu", diskGb: 1, flavors: [{ vcpu: 2, memoryMb: 1024 }] };

function machine(gpus: number, vcpu = 16): Machine {
  const stock = gpus > 0 ? [{ type: A40, count: gpus, virtual: false }] : [];
  const box = { id: ONLY_BOX, vcpu, memoryMb: 65_536, diskGb: 100, gpus: stock, ceilings: false };
  return { id: "m", boxes: [box], dataCenter: "US-KS-2" };
}

function instance(kind: InstanceKind, id: string, place: Place): { id: string } & Omit<InstanceItem, "version"> {
  const doc: KeptInstance = { ...NOWHERE, ...workerDoc({ state: "PLACED" }), ...place, kind, owner: `${kind} owner` };
  return { id, account: "a", createdAt: 0, doc };
}

const wish = (kind: InstanceKind, id: string, need: Need = ONE_GPU): Wish<KeptInstance> => ({
  need,
  instance: (place) => instance(kind, id, place),
});

/** Every node has its own cache of records, and all share one store. */
function setup(machines: Machine[]) {
  const store = new MemoryStore();
  const clock = new FakeClock();
  const node = () => {
    const records = new InstanceRecords({ store, clock });
    return { records, allocator: new Allocator({ records, machines: async () => machines }) };
  };
  return { store, clock, node };
}

const isPlaced = (outcome: InstanceItem[] | NoRoom): outcome is InstanceItem[] => !("reason" in outcome);

describe("two kinds that compete for the last GPU", () => {
  test("one gets it, and the other says why", async () => {
    const { allocator } = setup([machine(1)]).node();
    const outcomes = await Promise.all([
      allocator.allocate([wish("worker", "w")]),
      allocator.allocate([wish("pod", "p")]),
    ]);
    expect(outcomes.filter(isPlaced)).toHaveLength(1);
    expect(outcomes).toContainEqual({ reason: short("no capacity: needs 1x NVIDIA A40, 0 of 1 free") });
  });

  test("also where each is placed by a node of its own, which has counted before the other took it", async () => {
    const { node } = setup([machine(1)]);
    const [first, second] = [node(), node()];
    for (const { records } of [first, second]) await records.all();
    expect(isPlaced(await first.allocator.allocate([wish("pod", "p")]))).toBe(true);
    expect(await second.allocator.allocate([wish("worker", "w")])).toEqual({
      reason: short("no capacity: needs 1x NVIDIA A40, 0 of 1 free"),
    });
  });

  test("also when the second counts at any moment while the first is being recorded", async () => {
    const placed: number[] = [];
    for (let moment = 0; moment < 60; moment++) {
      const { allocator } = setup([machine(1)]).node();
      // The records are in memory, as they are on a node that has run for a while.
      await allocator.allocate([wish("pod", "none", TWO_VCPU)]);
      const first = allocator.allocate([wish("worker", "w")]);
      for (let step = 0; step < moment; step++) await undefined;
      const outcomes = await Promise.all([first, allocator.allocate([wish("pod", "p")])]);
      placed.push(outcomes.filter(isPlaced).length);
    }
    expect(placed).toEqual(Array(60).fill(1));
  });

  test("the next gets it once the record of the first is gone", async () => {
    const { node } = setup([machine(1)]);
    const [first, second] = [node(), node()];
    await first.allocator.allocate([wish("pod", "p")]);
    await first.records.remove("p", ({ state }) => state);
    second.records.forget();
    expect(isPlaced(await second.allocator.allocate([wish("worker", "w")]))).toBe(true);
  });
});

test("of many nodes that take the same CPU at once exactly as many succeed as there is room for", async () => {
  const { node } = setup([machine(0, 16)]);
  const nodes = Array.from({ length: 12 }, node);
  for (const { records } of nodes) await records.all();
  const outcomes = await Promise.all(
    nodes.map(({ allocator }, i) => allocator.allocate([wish("pod", `p${i}`, TWO_VCPU)])),
  );
  expect(outcomes.filter(isPlaced)).toHaveLength(8);
});

describe("a gang", () => {
  const members = (count: number) => Array.from({ length: count }, (_, i) => wish("member", `c${i}`));

  test("of three on room for two holds nothing", async () => {
    const { records, allocator } = setup([machine(2)]).node();
    expect(await allocator.allocate(members(3))).toEqual({
      reason: short("no capacity: 2 of 3 would find room: needs 1x NVIDIA A40, 0 of 2 free"),
    });
    expect(await records.all()).toEqual([]);
    expect(isPlaced(await allocator.allocate(members(2)))).toBe(true);
  });

  test("two at once on room for one of them never share it", async () => {
    const { node } = setup([machine(3)]);
    const [first, second] = [node(), node()];
    for (const { records } of [first, second]) await records.all();
    const other = Array.from({ length: 2 }, (_, i) => wish("member", `d${i}`));
    const outcomes = await Promise.all([first.allocator.allocate(members(2)), second.allocator.allocate(other)]);
    expect(outcomes.filter(isPlaced)).toHaveLength(1);
    first.records.forget();
    expect(await first.records.all()).toHaveLength(2);
  });
});
