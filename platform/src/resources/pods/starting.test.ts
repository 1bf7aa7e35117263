/** Starts that do not wait, starts with other GPUs, and resets, as older surfaces ask for them. */
import { expect, test } from "vitest";
import { CPU_POD, GPU_POD, type PodWorld, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import type { Caller } from "../../kernel/caller.ts";
import { instances } from "../../machines/instances.ts";
import { Collection } from "../../ports/store/collection.ts";
import { flatPod } from "./flat-view.ts";
import { PodViews } from "./view.ts";

const BOTH = { ...GPU_POD, gpu: { id: "NVIDIA A40", count: 2 } };
const callerOf = ({ owner }: PodWorld) =>
  ({ ...owner, key: "k", grants: [{ scope: "all" }], exempt: true }) as unknown as Caller;

async function stopped(world: PodWorld, body: object): Promise<string> {
  const { id } = await world.create(body);
  await world.act(id, "stop");
  await world.pass(11);
  return id;
}

const atOnce = (world: PodWorld, id: string, gpuCount?: number) =>
  world.services.pods.act(callerOf(world), id, "start", { waits: false, gpuCount });

test("a start that does not wait is refused without room, and the Pod stays stopped", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const id = await stopped(world, BOTH);
  await world.create(BOTH);
  await expect(atOnce(world, id)).rejects.toMatchObject({
    code: "no-capacity",
    message: "No capacity: needs 2x NVIDIA A40, 0 of 2 free.",
  });
  await world.pass(5);
  expect(await world.pod(id)).toMatchObject({ status: "EXITED", statusReason: "stopped by its owner" });
});

test("with room it has its place at once", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const id = await stopped(world, BOTH);
  expect((await atOnce(world, id))?.doc.status).toBe("STARTING");
  await world.settle();
  expect((await world.pod(id)).status).toBe("RUNNING");
  await expect(atOnce(world, id)).rejects.toMatchObject({ code: "wrong-state" });
});

test("where its previous program is still ending, it has that room again as soon as that has ended", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create(BOTH);
  world.running()[0]!.onAsk = () => {};
  await world.act(id, "stop");
  expect((await atOnce(world, id))?.doc.status).toBe("PROVISIONING");
  await world.pass(12);
  expect((await world.pod(id)).status).toBe("RUNNING");
});

test.each(["at once", "when there is room"])(
  "a start %s waits for the previous program also where another node recorded its instance a moment ago",
  async (when) => {
    await using world = await setupPods({ machine: TWO_GPUS });
    const id = await stopped(world, GPU_POD);
    await world.create(GPU_POD);
    const [instance] = await world.services.podRecords.allInstances();
    const { account, createdAt, doc } = instance!;
    // The records in memory are not read again for a second.
    const previous = { account, createdAt, doc: { ...doc, owner: id, machine: "another", state: "ENDING" as never } };
    const records = new Collection(world.store, instances);
    const { version } = await records.insert({ id: `${id}-previous`, ...previous });
    await (when === "at once" ? atOnce(world, id) : world.act(id, "start"));
    expect(await world.pod(id)).toMatchObject({ status: "PROVISIONING", statusReasonCode: "still-ending" });
    expect(world.running()).toHaveLength(1);
    await world.store.commit([records.removing(`${id}-previous`, version)]);
    await world.pass(3);
    expect((await world.pod(id)).status).toBe("RUNNING");
  },
);

test("two starts at once are one", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const id = await stopped(world, GPU_POD);
  const both = await Promise.allSettled([atOnce(world, id), atOnce(world, id)]);
  expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  await world.settle();
  expect(world.running()).toHaveLength(1);
});

test("with no GPU it runs without one, on the smallest flavor, and with its own at the next start", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const id = await stopped(world, { ...BOTH, mounts: { persistent: { size: 10, path: "/workspace" } } });
  await world.create(BOTH);
  const pod = await atOnce(world, id, 0);
  expect(pod?.doc.last).toMatchObject({ gpuType: null, gpuCount: 0, flavor: "cpu3c", vcpu: 2 });
  await world.settle();
  const flat = flatPod((await world.services.podRecords.pods.get(id))!, new PodViews({ clock: world.clock }));
  expect(flat).toMatchObject({ desiredStatus: "RUNNING", gpuCount: 0, costPerHr: 0.06, vcpuCount: 2, memoryInGb: 4 });
  await world.act(id, "stop");
  await world.pass(11);
  expect((await world.act(id, "start")).json.statusReason).toContain("needs 2x NVIDIA A40");
});

test("with another number of GPUs it keeps that number", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const id = await stopped(world, GPU_POD);
  await atOnce(world, id, 2);
  await world.settle();
  expect(await world.pod(id)).toMatchObject({ status: "RUNNING", gpu: { id: "NVIDIA A40", count: 2 } });
});

test("a reset makes its container anew, and is refused while it is locked or does not run", async () => {
  await using world = await setupPods();
  const { id } = await world.create(CPU_POD);
  const caller = callerOf(world);
  expect((await world.services.pods.reset(caller, id)).doc.status).toBe("STARTING");
  await world.pass(1);
  await world.change(id, { locked: true });
  await expect(world.services.pods.reset(caller, id)).rejects.toMatchObject({
    message: "This Pod is locked: unlock it before you reset it.",
  });
  await world.change(id, { locked: false });
  await world.act(id, "stop");
  await expect(world.services.pods.reset(caller, id)).rejects.toMatchObject({ code: "wrong-state" });
});

test("its cost is that of its compute; what it stores is told apart, and goes on while it is stopped", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create({ ...GPU_POD, disk: 73, mounts: { persistent: { size: 73, path: "/workspace" } } });
  const seen = async () =>
    flatPod((await world.services.podRecords.pods.get(id))!, new PodViews({ clock: world.clock }));
  expect((await world.pod(id)).cost).toBe(0.44);
  expect(await seen()).toMatchObject({ costPerHr: 0.44, adjustedCostPerHr: 0.46 });
  await world.act(id, "stop");
  expect(await seen()).toMatchObject({ desiredStatus: "EXITED", costPerHr: 0, adjustedCostPerHr: 0.02 });
});
