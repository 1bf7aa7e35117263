/** Disks of Pods are metered from creation to deletion, in the commit of each change, and as used while the Pod has a place. */
import { expect, test } from "vitest";
import { putPod } from "../../../tests/pod-doc.ts";
import { GPU_POD, type PodWorld, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import { type KeptSpan, spans } from "../../metering/span.ts";
import { Collection } from "../../ports/store/collection.ts";
import { billedTo } from "./billed.ts";

const BODY = { ...GPU_POD, disk: 20, mounts: { persistent: { size: 30, path: "/workspace" } } };

async function storageOf({ store, clock }: PodWorld, pod: string) {
  const found: KeptSpan[] = [];
  for await (const { doc } of new Collection(store, spans).all({ key: { name: "instance", value: pod } }))
    found.push(doc);
  const start = clock.now();
  const inOrder = found.toSorted((a, b) => a.from - b.from || (a.to ?? Infinity) - (b.to ?? Infinity));
  return inOrder.map(({ phase, diskGb, persistentGb, from, to, price }) => ({
    ...{ phase, gb: [diskGb, persistentGb], ms: (to ?? start) - from, open: to === null },
    usdPerMonth: price.storage / 1e9,
  }));
}

test("disks are metered from the creation of a Pod to its deletion, by what they cost while it has a place and while it has none", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create(BODY);
  await world.clock.advance(1000);
  await world.act(id, "stop");
  await world.clock.advance(2000);
  expect(await storageOf(world, id)).toEqual([
    { phase: "used", gb: [20, 30], ms: 1000, open: false, usdPerMonth: 5 },
    { phase: "kept", gb: [20, 30], ms: 2000, open: true, usdPerMonth: 6 },
  ]);
  await world.act(id, "start");
  await world.clock.advance(3000);
  await world.act(id, "terminate");
  await world.clock.advance(4000);
  expect((await storageOf(world, id)).map(({ phase, ms, open }) => [phase, ms, open])).toEqual([
    ["used", 1000, false],
    ["kept", 2000, false],
    ["used", 3000, false],
  ]);
});

test("a resize parts the line, and a change of anything else does not", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create(BODY);
  await world.clock.advance(1000);
  await world.change(id, { name: "other" });
  await world.clock.advance(1000);
  await world.change(id, { disk: 40 });
  expect((await storageOf(world, id)).map(({ gb, ms, open }) => [gb, ms, open])).toEqual([
    [[20, 30], 2000, false],
    [[40, 30], 0, true],
  ]);
});

test("the span is written in the commit of the Pod, and knows the key by which it was made", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const kinds: string[][] = [];
  const { commit } = world.store;
  world.store.commit = async (writes) => {
    kinds.push(writes.map((write) => (write.do === "insert" ? write.record.kind : write.kind)));
    return commit.call(world.store, writes);
  };
  const { id } = await world.create(BODY);
  const { doc } = (await new Collection(world.store, spans).get(`${id}.1`))!;
  expect(doc).toMatchObject({
    kind: "pod",
    owner: id,
    createdBy: (await world.services.podRecords.pods.get(id))!.doc.createdBy,
  });
  expect(doc.createdBy).toEqual(expect.any(String));
  await world.act(id, "terminate");
  const withPod = kinds.filter((all) => all.includes("pod") && all.includes("span"));
  expect(withPod.length).toBeGreaterThanOrEqual(2);
});

test("a Pod of an older release is metered from its next change on", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const id = await putPod(world);
  await world.clock.advance(5000);
  await world.change(id, { name: "other" });
  await world.clock.advance(1000);
  expect((await storageOf(world, id)).map(({ phase, ms, open }) => [phase, ms, open])).toEqual([["kept", 1000, true]]);
});

test("a span that is lost keeps no Pod from ending", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create(BODY);
  await world.act(id, "stop");
  await new Collection(world.store, spans).remove(`${id}.2`);
  expect((await world.act(id, "terminate")).status).toBe(204);
});

test("a member of a cluster is billed as the cluster", () => {
  expect(billedTo("p", {})).toEqual({ kind: "pod", owner: "p" });
  expect(billedTo("p", { cluster: { id: "c" } })).toEqual({ kind: "member", owner: "c" });
});
