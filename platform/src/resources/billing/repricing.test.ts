/** A price change: everything that is metered continues at the new prices from the moment they apply, and everybody sees them. */
import { expect, test } from "vitest";
import { putPod } from "../../../tests/pod-doc.ts";
import { GPU_POD, type PodWorld, setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";
import { putVolume } from "../../../tests/volume-doc.ts";
import { catalogFrom } from "../../catalog/catalog.ts";
import { installCatalog } from "../../catalog/compute.ts";
import { type KeptSpan, spans } from "../../metering/span.ts";
import { Collection } from "../../ports/store/collection.ts";

const BODY = { ...GPU_POD, disk: 20, mounts: { persistent: { size: 30, path: "/workspace" } } };
const A40 = "NVIDIA A40";

async function spansOf({ store }: PodWorld, owner: string): Promise<KeptSpan[]> {
  const found: KeptSpan[] = [];
  for await (const { doc } of new Collection(store, spans).all()) if (doc.owner === owner) found.push(doc);
  return found.toSorted((a, b) => a.from - b.from || (a.to ?? Infinity) - (b.to ?? Infinity));
}

const told = (all: readonly KeptSpan[], phase: string, start: number) =>
  all
    .filter((span) => span.phase === phase)
    .map(({ from, to, price }) => [from - start, to && to - start, (price.gpu + price.storage) / 1e9]);

test("parts what runs and what is stored at its moment, and what comes later costs the new price at once", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const start = world.clock.now();
  const { id } = await world.create(BODY);
  const volume = (
    await world.call("POST", "/v2/network-volumes", { body: { name: "v", size: 100, dataCenter: "EU-RO-1" } })
  ).json.id;
  const set = [
    { section: "gpus" as const, id: A40, name: "secure", price: 7 },
    { section: "storage" as const, id: "storage", name: "persistentRunningPerGbMonth", price: 1 },
    { section: "storage" as const, id: "storage", name: "networkVolumePerGbMonth", price: 2 },
  ];
  await world.services.prices.change(set);
  await world.pass(8);
  expect(told(await spansOf(world, id), "running", start)).toEqual([
    [0, 5000, 0.44],
    [5000, null, 7],
  ]);
  expect(told(await spansOf(world, id), "used", start)).toEqual([
    [0, 5000, 5],
    [5000, null, 32],
  ]);
  expect(told(await spansOf(world, volume), "kept", start)).toEqual([
    [0, 5000, 7],
    [5000, null, 200],
  ]);
  const later = await world.create({ ...BODY, name: "later" });
  expect(told(await spansOf(world, later.id), "running", start)).toEqual([[8000, null, 7]]);
});

test("is seen in the catalog and in what a Pod costs", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create(GPU_POD);
  const before = (await world.pod(id)).cost;
  await world.services.prices.change([{ section: "gpus", id: A40, name: "secure", price: 7 }]);
  const shown = async () => (await world.call("GET", `/v2/catalog/gpus/${encodeURIComponent(A40)}`)).json.price.secure;
  expect(await shown()).toBe(0.44);
  await world.pass(8);
  expect(await shown()).toBe(7);
  expect((await world.pod(id)).cost).toBeCloseTo(before - 0.44 + 7, 9);
});

test("what ends before anybody has come to it is parted all the same", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const start = world.clock.now();
  const { id } = await world.create(BODY);
  await world.services.prices.change([{ section: "gpus", id: A40, name: "secure", price: 7 }]);
  world.clock.jump(6000);
  await world.act(id, "terminate");
  expect(told(await spansOf(world, id), "running", start)).toEqual([
    [0, 5000, 0.44],
    [5000, 6000, 7],
  ]);
});

test("changes that were made while no server ran hold from their moments", async () => {
  const before = await setupPods({ machine: TWO_GPUS });
  const start = before.clock.now();
  const { id } = await before.create(BODY);
  await before.abandon();
  const change = (price: number | null) =>
    before.services.prices.change([{ section: "gpus", id: A40, name: "secure", price }]);
  await change(7);
  before.clock.jump(60_000);
  await change(null);
  before.clock.jump(60_000);
  await using world = await before.crash();
  await world.pass(1);
  expect(told(await spansOf(world, id), "running", start)).toEqual([
    [0, 5000, 0.44],
    [5000, 65_000, 7],
    [65_000, null, 0.44],
  ]);
});

test("another file holds from the next start on, and a second walk changes nothing", async () => {
  const before = await setupPods({ machine: TWO_GPUS });
  const start = before.clock.now();
  const { id } = await before.create(BODY);
  before.clock.jump(60_000);
  using _ = installCatalog(catalogFrom(JSON.stringify({ gpus: { [A40]: { price: { secure: 2 } } } })));
  await using world = await before.crash();
  await world.pass(70);
  expect(told(await spansOf(world, id), "running", start)).toEqual([
    [0, 60_000, 0.44],
    [60_000, null, 2],
  ]);
});

test("Pods and volumes of a release that did not meter their storage are metered from the first start on, once", async () => {
  const before = await setupPods({ machine: TWO_GPUS });
  await before.store.commit([{ do: "remove", kind: "metered-storage", id: "storage" }]);
  const pod = await putPod(before, { mounts: { persistent: { size: 100, path: "/workspace" } } });
  const volume = await putVolume(before);
  const start = before.clock.now();
  await using world = await before.crash();
  await world.pass(3);
  expect(told(await spansOf(world, pod), "kept", start)).toEqual([[0, null, 20]]);
  expect(told(await spansOf(world, volume), "kept", start)).toEqual([[0, null, 3.5]]);
});

test("a Pod that an older release started pays no disk twice", async () => {
  const before = await setupPods({ machine: TWO_GPUS });
  const { id } = await before.create(BODY);
  const { instance } = (await before.services.podRecords.pods.get(id))!.doc;
  // The state that the older release left: the disk is part of the hourly price, and the Pod itself is not metered.
  const old = { gpu: 440_000_000, cpu: 0, disk: 2_777_778 };
  await before.store.commit([
    { do: "patch", kind: "span", id: `${instance}.1`, set: { price: old, v: 1 }, unset: ["createdBy"] },
    { do: "patch", kind: "instance", id: instance!, set: { span: { phase: "running", from: before.clock.now() } } },
    { do: "patch", kind: "pod", id, set: {}, unset: ["span", "spans"] },
    { do: "remove", kind: "span", id: `${id}.1` },
    { do: "remove", kind: "metered-storage", id: "storage" },
  ]);
  const start = before.clock.now();
  before.clock.jump(3_600_000);
  await using world = await before.crash();
  await world.pass(3);
  const all = await spansOf(world, id);
  expect(
    all
      .filter(({ phase }) => phase === "running")
      .map(({ price, from, to }) => [from - start, to && to - start, price.disk]),
  ).toEqual([
    [0, 3_600_000, 2_777_778],
    [3_600_000, null, 0],
  ]);
  expect(told(all, "used", start)).toEqual([[3_600_000, null, 5]]);
});

test("a Pod of the community cloud costs what GPUs cost there", async () => {
  const type = "NVIDIA RTX A6000";
  const capacity = { ...TWO_GPUS.capacity, gpus: [{ type, count: 2, virtual: false }] };
  await using world = await setupPods({ machine: { capacity } });
  const { id } = await world.create({ ...GPU_POD, gpu: { id: type }, cloud: "COMMUNITY" });
  expect(told(await spansOf(world, id), "running", world.clock.now())).toEqual([[0, null, 0.33]]);
  const { json } = await world.call("GET", `/v2/catalog/gpus/${encodeURIComponent(type)}`);
  expect(json.price.community).toBe(0.33);
});
