/** Which frozen workers stay, and which give way. */
import { describe, expect, test } from "vitest";
import { type GivenWorker, workerDoc } from "../../../../tests/worker-doc.ts";
import { placeOf } from "../../../machines/instances.ts";
import type { Need } from "../../../machines/need.ts";
import type { Machine } from "../../../machines/place.ts";
import { Room } from "../../../machines/room.ts";
import { ONLY_BOX } from "../../../ports/compute/compute.ts";
import type { WorkerItem } from "./plan.ts";
import { Shelf } from "./shelf.ts";

const GPU = "NVIDIA A40";

function worker(id: string, frozenAt: number, changes: GivenWorker = {}): WorkerItem {
  const place = { machine: "m", vcpu: 2, memoryMb: 4096, heldMb: 4096 };
  const times = { startedAt: 0, readyAt: 0, frozenAt };
  const doc = workerDoc({ state: "FROZEN", ...place, ...times, ...changes });
  return { id, account: "a", createdAt: 0, version: 1, doc };
}

const ON_GPU = { gpuType: GPU, gpuCount: 1 };

const machine = (id: string, gpus = 0, memoryMb = 16_384): Machine => ({
  id,
  dataCenter: "US-KS-2",
  boxes: [
    {
      ...{ id: ONLY_BOX, vcpu: 8, memoryMb, diskGb: 100, ceilings: false },
      gpus: gpus > 0 ? [{ type: GPU, count: gpus, virtual: false }] : [],
    },
  ],
});

function shelfOf(
  frozen: WorkerItem[],
  { memoryMb = 65_536, machines = [machine("m")], ending = [] as WorkerItem[] } = {},
) {
  const room = new Room(machines, [...frozen, ...ending].flatMap(placeOf));
  const limits = { forMs: 3_600_000, memoryMb: () => memoryMb };
  return { room, shelf: new Shelf(frozen, room, ending.flatMap(placeOf), limits) };
}

const ids = (workers: readonly { id: string }[] | undefined) => workers?.map(({ id }) => id);
const cpu = (vcpu: number, memoryGb: number): Need => ({
  kind: "cpu",
  diskGb: 0,
  flavors: [{ vcpu, memoryMb: memoryGb * 1024 }],
});
const gpu = (count: number): Need => ({
  kind: "gpu",
  diskGb: 0,
  count,
  types: [{ type: GPU, vcpu: 1, memoryMb: 1024 }],
});

describe("memory", () => {
  const overflow = (frozen: WorkerItem[], memoryMb: number) =>
    ids(
      shelfOf(frozen, { memoryMb })
        .shelf.letGoOverflow()
        .map((one) => one.worker),
    );

  test("is enough for all, or those go that were frozen longest ago", () => {
    const frozen = [worker("new", 3), worker("old", 1), worker("middle", 2)];
    expect(overflow(frozen, 12_288)).toEqual([]);
    expect(overflow(frozen, 8192)).toEqual(["old"]);
    expect(overflow(frozen, 4096)).toEqual(["middle", "old"]);
  });

  test("goes to those of PRIORITY_FLASHBOOT first, however old they are", () => {
    const frozen = [worker("priority", 1, { keptLast: true }), worker("new", 3), worker("old", 2)];
    expect(overflow(frozen, 8192)).toEqual(["old"]);
    expect(overflow(frozen, 4096)).toEqual(["new", "old"]);
    expect(overflow(frozen, 0)).toEqual(["priority", "new", "old"]);
  });

  test("of each machine is its own", () => {
    expect(overflow([worker("here", 1), worker("there", 2, { machine: "other" })], 4096)).toEqual([]);
  });

  test("is given to an idle worker in the place of an older one, but not of one with priority", () => {
    const idle = worker("idle", 0, { state: "READY" });
    const { shelf } = shelfOf([worker("old", 1)], { memoryMb: 4096 });
    expect([shelf.put(idle), ids(shelf.letGoOverflow().map((one) => one.worker))]).toEqual([undefined, ["old"]]);
    const full = shelfOf([worker("priority", 1, { keptLast: true })], { memoryMb: 4096 });
    expect(full.shelf.put(idle)).toMatchObject({
      reason: { text: "it holds 4096 MB, and frozen workers may hold 4096 MB together" },
    });
    expect(full.shelf.letGoOverflow()).toEqual([]);
  });

  test("that would never be enough for a worker costs the others nothing", () => {
    const { shelf } = shelfOf([worker("small", 1)], { memoryMb: 4096 });
    expect(shelf.put(worker("large", 0, { state: "READY", heldMb: 8192 }))).toBeDefined();
    expect(shelf.letGoOverflow()).toEqual([]);
  });

  test("is counted by what workers hold, not by what they were given", () => {
    const frozen = [worker("all", 1, { memoryMb: 129_024, heldMb: 3072 }), worker("some", 2, { heldMb: 1024 })];
    expect(overflow(frozen, 4096)).toEqual([]);
    expect(overflow(frozen, 4095)).toEqual(["all"]);
  });

  test("of a worker that was never measured is not known: it is put there, but where nothing may be frozen", () => {
    const { heldMb: _, ...doc } = worker("idle", 0, { state: "READY", memoryMb: 129_024 }).doc;
    const idle = { ...worker("idle", 0), doc };
    expect(shelfOf([worker("old", 1)], { memoryMb: 4096 }).shelf.put(idle)).toBeUndefined();
    expect(shelfOf([], { memoryMb: 0 }).shelf.put(idle)).toMatchObject({
      reason: { text: "frozen workers may hold 0 MB together" },
    });
  });
});

describe("room for a worker that is needed", () => {
  test("is made by the one that was frozen longest ago, where one is enough", () => {
    const frozen = [worker("new", 3), worker("old", 1), worker("middle", 2)];
    expect(ids(shelfOf(frozen).shelf.makeRoom(cpu(2, 8)))).toEqual(["old"]);
  });

  test("is made by those that are in its way, and by nobody else", () => {
    const frozen = [worker("cpu", 1), worker("a40", 2, ON_GPU), worker("elsewhere", 0, { machine: "n" })];
    const machines = [machine("m", 1), machine("n")];
    expect(ids(shelfOf(frozen, { machines }).shelf.makeRoom(gpu(1)))).toEqual(["a40"]);
  });

  test("is made by several where one is not enough", () => {
    const frozen = [worker("a", 1, ON_GPU), worker("b", 2), worker("c", 3, ON_GPU)];
    const machines = [machine("m", 2)];
    expect(ids(shelfOf(frozen, { machines }).shelf.makeRoom(gpu(2)))).toEqual(["a", "c"]);
  });

  test("is made by those of PRIORITY_FLASHBOOT last", () => {
    const frozen = [worker("priority", 1, { keptLast: true }), worker("other", 2)];
    const machines = [machine("m", 0, 8192)];
    expect(ids(shelfOf(frozen, { machines }).shelf.makeRoom(cpu(2, 4)))).toEqual(["other"]);
  });

  test("costs nobody anything when a worker that ends makes it already", () => {
    const ending = [worker("ending", 0, { state: "DRAINING" })];
    const { shelf } = shelfOf([worker("frozen", 1)], { machines: [machine("m", 0, 8192)], ending });
    expect([shelf.makeRoom(cpu(2, 4)), ids(shelf.makeRoom(cpu(2, 4)))]).toEqual([[], ["frozen"]]);
  });

  test("is not made, at the cost of nobody, where not even all of them would be enough", () => {
    const { shelf } = shelfOf([worker("a", 1)], { machines: [machine("m", 0, 8192)] });
    expect(shelf.makeRoom(cpu(2, 16))).toBeUndefined();
    expect(ids(shelf.makeRoom(cpu(2, 8)))).toEqual(["a"]);
  });

  test("is not taken by another one meanwhile", () => {
    const { shelf, room } = shelfOf([worker("a", 1, ON_GPU)], { machines: [machine("m", 1)] });
    expect(ids(shelf.makeRoom(gpu(1)))).toEqual(["a"]);
    expect(room.take(gpu(1))).toHaveProperty("reason");
  });

  test("is not short of the CPU of those that stand still", () => {
    const frozen = [1, 2, 3, 4].map((at) => worker(`w${at}`, at, { memoryMb: 1024 }));
    expect(shelfOf(frozen).room.take(cpu(8, 8))).toMatchObject({ machine: "m" });
  });
});
