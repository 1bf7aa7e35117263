/** Data of earlier releases: workers in records of their own become instances, and continue. */
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { InstanceRecords } from "../../machines/instance-records.ts";
import { spans } from "../../metering/span.ts";
import { Collection } from "../../ports/store/collection.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import { WorkerRecords } from "./records.ts";

const OLD = {
  ...{ endpoint: "ep", release: 3, state: "READY", image: "host:/app", machine: "m", keyId: "key" },
  ...{ vcpu: 8, memoryMb: 1024, gpuType: "NVIDIA A40", gpuCount: 1, gpus: ["GPU-1"], dataCenter: "EU-RO-1" },
  ...{ startedAt: 1000, readyAt: 2000, failedAt: null, reason: null, v: 1 },
};

async function setup() {
  const store = new MemoryStore();
  const record = { kind: "worker", account: "acc", createdAt: 500, unique: [] };
  const wanted = { ...OLD, state: "WANTED", machine: null, gpus: [], startedAt: null };
  await store.commit([
    { do: "insert", record: { ...record, id: "runs", doc: OLD } },
    { do: "insert", record: { ...record, id: "waits", doc: wanted } },
  ]);
  const open = () => {
    const instances = new InstanceRecords({ store, clock: new FakeClock() });
    return new WorkerRecords({ store, instances });
  };
  return { store, open };
}

test("they are read as they are now", async () => {
  const { store, open } = await setup();
  const records = open();
  await records.prepare();
  const { doc, ...about } = (await records.find("runs"))!;
  expect(about).toMatchObject({ account: "acc", createdAt: 500 });
  expect(doc).toMatchObject({
    ...{ kind: "worker", owner: "ep", release: 3, state: "READY", machine: "m", box: "machine" },
    ...{ gpuType: "NVIDIA A40", gpuCount: 1, devices: ["GPU-1"], dataCenter: "EU-RO-1" },
  });
  expect((await records.find("waits"))?.doc).toMatchObject({ state: "WANTED", machine: null, box: null });
  expect(await store.list({ kind: "worker", limit: 10 })).toEqual([]);
});

test("one that runs is metered from its start, once, also when the first attempt was broken off", async () => {
  const { store, open } = await setup();
  const old = (await store.get("worker", "runs"))!;
  await open().prepare();
  await store.commit([{ do: "insert", record: { ...old, unique: [] } }]);
  await open().prepare();
  const found = [];
  for await (const { doc } of new Collection(store, spans).all()) found.push(doc);
  expect(found).toMatchObject([{ instance: "runs", from: 1000, to: null }]);
});
