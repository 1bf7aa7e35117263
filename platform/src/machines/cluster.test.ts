/** Workers and Pods on a driver that is a cluster: it starts late, waits for room, pulls slowly, takes places back and loses boxes. */
import { describe, expect, test } from "vitest";
import { type FleetWorld, setupFleet } from "../../tests/fleet-world.ts";
import { CPU_POD, GPU_POD, type PodWorld, setupPods } from "../../tests/pod-world.ts";
import { spans } from "../metering/span.ts";
import type { Box } from "../ports/compute/compute.ts";
import type { FakeOptions } from "../ports/compute/fake-compute.ts";
import { PlaceGone, StartRefused } from "../ports/compute/refusal.ts";
import { MemoryLogs } from "../ports/logs/memory-logs.ts";
import { MemorySignals } from "../ports/signals/memory-signals.ts";
import { Collection } from "../ports/store/collection.ts";

const box = (id: string): Box => ({ id, vcpu: 4, memoryMb: 65_536, diskGb: 500, gpus: [], ceilings: false });
const small = (id: string): Box => ({ ...box(id), vcpu: 1 });
const gpuBox = (id: string): Box => ({
  ...box(id),
  vcpu: 32,
  gpus: [{ type: "NVIDIA A40", count: 1, virtual: false }],
});
const CLUSTER: FakeOptions = { isCluster: true, capacity: ["east", "west", "north"].map(box) };
const FULL = "0 of 3 boxes have 2 free processors";

describe("a worker", () => {
  const withJob = async () => {
    const world = await setupFleet({ machine: CLUSTER });
    const submit = async () => {
      const job = await world.submit();
      await world.settle();
      return job;
    };
    return { world, submit, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
  };

  test("that the cluster has no room for yet is initialising, says what it waits for, and begins when there is some", async () => {
    await using s = await withJob();
    s.world.compute.queue.holdFor(FULL);
    const job = await s.submit();
    expect(await s.world.records()).toMatchObject([{ state: "PLACED", startedAt: null, reason: { text: FULL } }]);
    expect((await s.world.status(job)).waitReason).toContain(FULL);
    await s.world.pass(30);
    expect(s.world.started).toEqual([]);
    s.world.compute.queue.holdFor(undefined);
    await s.world.settle();
    expect((await s.world.running()[0]!.take())?.id).toBe(job);
    expect(await s.world.records()).toMatchObject([{ state: "READY", reason: null }]);
  });

  test("whose image the cluster pulls slowly says so", async () => {
    await using s = await withJob();
    s.world.compute.queue.pullMs = 20_000;
    const job = await s.submit();
    await s.world.pass(5);
    expect((await s.world.status(job)).waitReason).toBe("pulling image host:/app");
    await s.world.pass(16);
    expect((await s.world.running()[0]!.take())?.id).toBe(job);
  });

  test("that finds no room in the end is throttled with the reason, and is tried again some seconds later", async () => {
    await using s = await withJob();
    s.world.compute.queue.holdFor(FULL);
    const job = await s.submit();
    s.world.compute.queue.refuseAll(new PlaceGone("nothing was free within 10 min"));
    await s.world.settle();
    const text = "no capacity: nothing was free within 10 min";
    const reason = { code: "no-capacity", text };
    expect(await s.world.records()).toMatchObject([{ state: "WANTED", machine: null, box: null, reason, keyId: null }]);
    expect(await s.world.status(job)).toMatchObject({ waitReason: text, waitReasonCode: "no-capacity" });
    expect(await s.world.compute.list()).toEqual([]);
    s.world.compute.queue.holdFor(undefined);
    await s.world.pass(5);
    expect(s.world.started).toEqual([]);
    await s.world.pass(6);
    expect((await s.world.running()[0]!.take())?.id).toBe(job);
  });

  test("that is refused for itself has failed, as if it had been at once", async () => {
    await using s = await withJob();
    s.world.compute.queue.holdFor(FULL);
    await s.submit();
    s.world.compute.queue.refuseAll(new StartRefused("no such image"));
    await s.world.settle();
    expect(await s.world.records()).toMatchObject([
      { state: "FAILED", reason: { text: "boot failed: no such image" } },
    ]);
  });

  test("that waits when the server crashes is not started twice, and begins with the key that it has", async () => {
    await using s = await withJob();
    s.world.compute.queue.holdFor(FULL);
    const job = await s.submit();
    const next = await s.world.crash();
    await next.pass(12);
    expect(next.started).toEqual([]);
    next.compute.queue.holdFor(undefined);
    await next.settle();
    expect(next.started).toHaveLength(1);
    expect((await next.running()[0]!.take())?.id).toBe(job);
    await next[Symbol.asyncDispose]();
  });

  test("that waits is ended when nobody needs it any more", async () => {
    await using s = await withJob();
    s.world.compute.queue.holdFor(FULL);
    await s.submit();
    await s.world.call("DELETE", `/v2/serverless/${s.world.endpoint}`);
    await s.world.pass(2);
    expect([await s.world.records(), await s.world.compute.list()]).toEqual([[], []]);
  });

  test.each([
    [
      "evicted",
      (world: { compute: { evict(id: string, why: string): void } }, id: string) =>
        world.compute.evict(id, "evicted: its box runs out of memory"),
    ],
    [
      "preempted",
      (world: { compute: { evict(id: string, why: string): void } }, id: string) =>
        world.compute.evict(id, "preempted by a more important program"),
    ],
  ])("that is %s loses no job: another one does it, and no failure is counted", async (_, take) => {
    await using s = await withJob();
    const job = await s.submit();
    const [first] = s.world.running();
    expect((await first!.take())?.id).toBe(job);
    take(s.world, first!.id);
    await s.world.settle();
    expect((await s.world.records()).map(({ state }) => state)).not.toContain("FAILED");
    const [second] = s.world.running();
    expect((await second!.take())?.id).toBe(job);
    expect(await second!.done(job)).toBe(200);
  });

  test("of a box that is lost is started in another box", async () => {
    await using s = await withJob();
    const job = await s.submit();
    const [first] = s.world.running();
    const { box: lost } = (await s.world.record(first!.id))!;
    s.world.compute.loseBox(lost!);
    // The machine is only checked every few seconds, so the worker may get the lost box once more before that.
    await s.world.pass(16);
    const [second] = s.world.running();
    expect((await s.world.record(second!.id))!.box).not.toBe(lost);
    expect((await second!.take())?.id).toBe(job);
  });
});

/** Returns the spans in which a Pod ran, in order. */
const spansOf = async ({ store }: PodWorld, pod: string) => {
  const all = await Array.fromAsync(new Collection(store, spans).all());
  const own = all.filter(({ doc }) => doc.owner === pod && doc.phase === "running");
  return own.map(({ doc: { from, to } }) => ({ from, to })).toSorted((a, b) => a.from - b.from);
};

describe("a box that is in no list any more, with all that ran there and no word of it,", () => {
  test("loses no job: another worker does it in another box", async () => {
    await using world = await setupFleet({ machine: CLUSTER });
    const job = await world.submit();
    await world.settle();
    const [first] = world.running();
    expect((await first!.take())?.id).toBe(job);
    const { box: lost } = (await world.record(first!.id))!;
    world.compute.vanish(lost!);
    await world.pass(30);
    const [second] = world.running();
    expect(second!.id).not.toBe(first!.id);
    expect((await world.record(second!.id))!.box).not.toBe(lost);
    expect((await second!.take())?.id).toBe(job);
    expect(await second!.done(job)).toBe(200);
    expect((await world.status(job)).status).toBe("COMPLETED");
  });

  test("is nothing to one that waited for room there: it begins elsewhere", async () => {
    await using world = await setupFleet({ machine: CLUSTER });
    world.compute.queue.holdFor(FULL);
    const job = await world.submit();
    await world.settle();
    const { box: lost } = (await world.records())[0]!;
    world.compute.vanish(lost!);
    world.compute.queue.holdFor(undefined);
    await world.pass(20);
    const [worker] = world.running();
    expect((await world.record(worker!.id))!.box).not.toBe(lost);
    expect((await worker!.take())?.id).toBe(job);
  });

  test("leaves Pods that start in another box, with what they stored, and pay for nothing meanwhile", async () => {
    await using world = await setupPods({ machine: { ...CLUSTER, capacity: ["east", "west"].map(gpuBox) } });
    const { id } = await world.create({ ...GPU_POD, mounts: { persistent: { size: 10, path: "/workspace" } } });
    const [first] = world.running();
    const lost = first!.spec.box!;
    await world.pass(12);
    const gone = world.clock.now();
    world.compute.vanish(lost);
    await world.pass(30);
    expect(await world.pod(id)).toMatchObject({ status: "RUNNING", statusReason: null });
    const [second] = world.running();
    expect([second!.spec.box === lost, second!.spec.mounts]).toEqual([false, first!.spec.mounts]);
    const [paid, ...later] = await spansOf(world, id);
    expect(paid!.to).toBeLessThanOrEqual(gone);
    expect(later.at(-1)).toEqual({ from: second!.view().startedAt, to: null });
  });

  test("keeps Pods waiting where no other box has room, until one is back", async () => {
    await using world = await setupPods({ machine: { ...CLUSTER, capacity: [box("east"), small("west")] } });
    const { id } = await world.create({ ...CPU_POD, cpu: { id: "cpu3c", vcpuCount: 4 } });
    world.compute.vanish("east");
    await world.pass(30);
    expect(await world.pod(id)).toMatchObject({ status: "PROVISIONING", statusReasonCode: "no-capacity" });
    world.compute.resize({ vcpu: 4 });
    await world.pass(12);
    expect(await world.pod(id)).toMatchObject({ status: "RUNNING" });
    expect(world.running()[0]!.spec.box).toBe("west");
  });
});

describe("a Pod", () => {
  test("that the cluster has no room for yet is STARTING, with what it waits for, and then runs", async () => {
    await using world = await setupPods({ machine: CLUSTER });
    world.compute.queue.holdFor(FULL);
    const { id } = await world.create();
    await world.pass(30);
    expect(await world.pod(id)).toMatchObject({ status: "STARTING", statusReason: FULL });
    world.compute.queue.holdFor(undefined);
    await world.settle();
    expect(await world.pod(id)).toMatchObject({ status: "RUNNING", statusReason: null });
  });

  test("that finds no room in the end waits for some, with the reason, and gets it", async () => {
    await using world = await setupPods({ machine: CLUSTER });
    world.compute.queue.holdFor(FULL);
    const { id } = await world.create();
    world.compute.queue.refuseAll(new PlaceGone("nothing was free within 10 min"));
    world.compute.queue.holdFor(undefined);
    await world.pass(2);
    const statusReason = "no capacity: nothing was free within 10 min";
    expect(await world.pod(id)).toMatchObject({ status: "PROVISIONING", statusReason });
    await world.pass(10);
    expect(await world.pod(id)).toMatchObject({ status: "RUNNING" });
  });

  test("that waits can be stopped and deleted, and leaves nothing", async () => {
    await using world = await setupPods({ machine: CLUSTER });
    world.compute.queue.holdFor(FULL);
    const [one, two] = [await world.create(), await world.create()];
    expect((await world.act(one.id, "stop")).json.status).toBe("EXITED");
    expect((await world.call("DELETE", `/v2/pods/${two.id}`)).status).toBe(204);
    await world.pass(2);
    expect(await world.compute.list()).toEqual([]);
  });

  test("that waits when the server crashes begins once, under the next one", async () => {
    await using world = await setupPods({ machine: CLUSTER });
    world.compute.queue.holdFor(FULL);
    const { id } = await world.create();
    await using next = await world.crash();
    await next.pass(12);
    expect(await next.pod(id)).toMatchObject({ status: "STARTING", statusReason: FULL });
    next.compute.queue.holdFor(undefined);
    await next.settle();
    expect([(await next.pod(id)).status, next.started.length]).toEqual(["RUNNING", 1]);
  });

  test("that loses its place is started in another box, with what it stored, and counts no crash", async () => {
    await using world = await setupPods({ machine: { ...CLUSTER, capacity: ["east", "west"].map(gpuBox) } });
    const mounts = { persistent: { size: 10, path: "/workspace" } };
    const { id } = await world.create({ ...GPU_POD, mounts });
    const [first] = world.running();
    const lost = first!.spec.box!;
    world.compute.loseBox(lost);
    await world.pass(16);
    expect(await world.pod(id)).toMatchObject({ status: "RUNNING", statusReason: null });
    const [second] = world.running();
    expect(second!.spec.box).not.toBe(lost);
    expect(second!.spec.mounts).toEqual(first!.spec.mounts);
    expect(await world.log(id)).toContain(`[lost its place: box ${lost} is lost]`);
  });

  test("that fails goes on with its disk where the driver keeps that on a volume, and says why where it has none", async () => {
    const machine = { ...CLUSTER, capacity: ["east", "west"].map(gpuBox), can: { needsVolume: true } };
    await using world = await setupPods({ machine });
    const mounts = { persistent: { size: 10, path: "/workspace" } };
    const [kept, bare] = [await world.create({ ...GPU_POD, mounts }), await world.create(GPU_POD)];
    for (const program of world.running()) {
      program.disk.set("/notes", "mine");
      program.exit({ code: 1 });
    }
    await world.pass(4);
    const after = new Map(world.running().map(({ spec, disk }) => [spec.owner, disk.get("/notes")]));
    expect(after).toEqual(
      new Map([
        [kept.id, "mine"],
        [bare.id, undefined],
      ]),
    );
    const why = "[begins with a new container disk: this driver keeps the disk only of what mounts a volume]";
    expect([await world.log(kept.id), await world.log(bare.id)]).toEqual([
      expect.not.arrayContaining([why]),
      expect.arrayContaining([why]),
    ]);
  });

  test("that is preempted where there is no other room waits for some", async () => {
    await using world = await setupPods({ machine: { ...CLUSTER, capacity: [box("east")] } });
    const { id } = await world.create({ ...CPU_POD, cpu: { id: "cpu3c", vcpuCount: 4 } });
    world.compute.resize({ vcpu: 2 });
    await world.pass(6);
    world.compute.evict(world.running()[0]!.id, "preempted by a more important program");
    await world.pass(8);
    expect(await world.pod(id)).toMatchObject({ status: "PROVISIONING" });
    expect((await world.pod(id)).statusReason).toMatch(/^no capacity: needs 4 vCPU/);
    world.compute.resize({ vcpu: 4 });
    await world.pass(8);
    expect(await world.pod(id)).toMatchObject({ status: "RUNNING" });
  });
});

describe("a cluster that two nodes name", () => {
  async function twoNodes() {
    const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
    const machine = { ...CLUSTER, name: "cluster" };
    const first = await setupFleet({ signals, machine, nodeName: "node-a" });
    const found = { ...first, logs: new MemoryLogs() };
    const second = await setupFleet({
      ...{ signals, machine, found, store: first.store, endpoint: first.endpoint, nodeName: "node-b" },
      beside: first.compute,
    });
    await first.pass(6);
    return { first, second };
  }

  const machinesOf = async (world: FleetWorld) =>
    (await world.call("GET", "/v2/installation/machines")).json.machines as { id: string; node: string }[];

  test("counts once, and one of them holds it and starts what is needed, once", async () => {
    const { first, second } = await twoNodes();
    for (const world of [first, second]) {
      const roll = await world.app.machines.roll();
      expect(roll.machines.map(({ id, boxes }) => [id, boxes.length])).toEqual([["cluster", 3]]);
    }
    expect(await machinesOf(second)).toMatchObject([{ id: "cluster", node: "node-a" }]);
    const job = await second.submit();
    await first.pass(3);
    expect(first.started).toHaveLength(1);
    expect((await first.running()[0]!.take())?.id).toBe(job);
    await second[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
  });

  test("is taken over when its node dies: what runs goes on, nothing is started twice, and nothing is lost", async () => {
    const { first, second } = await twoNodes();
    const job = await first.submit();
    await first.pass(2);
    const [program] = first.running();
    expect((await program!.take())?.id).toBe(job);
    await first.abandon();
    await second.pass(14);
    expect(await machinesOf(second)).toMatchObject([{ id: "cluster", node: "node-b" }]);
    expect((await second.app.machines.roll()).machines.map(({ id }) => id)).toEqual(["cluster"]);
    expect((await second.compute.list()).map(({ id, state }) => [id, state])).toEqual([[program!.id, "running"]]);
    expect(await second.records()).toMatchObject([{ state: "READY", machine: "cluster" }]);
    await second[Symbol.asyncDispose]();
  });
});
