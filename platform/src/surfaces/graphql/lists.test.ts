/** Long and short lists in GraphQL: the volumes, templates and workers of all items are read once. */
import { expect, test } from "vitest";
import { dataOf } from "../../../tests/graphql.ts";
import { podDoc } from "../../../tests/pod-doc.ts";
import { putVolume } from "../../../tests/volume-doc.ts";
import { setup, type World } from "../../../tests/world.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import type { Listing, StoredRecord, UniqueKey } from "../../ports/store/store.ts";
import { created } from "../../resources/endpoints/fields.ts";

class CountingStore extends MemoryStore {
  reads = 0;

  override get(kind: string, id: string): Promise<StoredRecord | undefined> {
    this.reads++;
    return super.get(kind, id);
  }

  override find(kind: string, key: UniqueKey): Promise<StoredRecord | undefined> {
    this.reads++;
    return super.find(kind, key);
  }

  override list(listing: Listing): Promise<StoredRecord[]> {
    this.reads++;
    return super.list(listing);
  }
}

const PODS = `{ myself { pods {
  id name imageName desiredStatus costPerHr adjustedCostPerHr env ports lastStatusChange machineId memoryInGb vcpuCount gpuCount podType
  templateId networkVolumeId containerRegistryAuthId createdAt lastStartedAt uptimeSeconds
  gpus { id } runtime { uptimeInSeconds ports { ip privatePort } } latestTelemetry { state } savingsPlans { id } cpuFlavor { id }
  machine { podHostId gpuDisplayName gpuType { id } } networkVolume { id name size dataCenter { id } }
} } }`;

const ENDPOINTS = `{ myself { endpoints {
  id name gpuIds templateId env { key value } networkVolumeIds { networkVolumeId } networkVolume { id name }
  template { id imageName } pods { id desiredStatus }
} } }`;

const nameOf = (kind: string, i: number) => `${kind}${String(i).padStart(14 - kind.length, "0")}`;

async function fill(world: World, count: number): Promise<void> {
  const { account } = world.owner;
  const volume = await putVolume(world, "v");
  const template = (
    await world.call("POST", "/v2/templates", { body: { name: "t", image: "busybox", serverless: true } })
  ).json;
  const mounts = { network: [{ volumeId: volume, path: "/workspace" }] };
  const endpoint = created({
    name: "e",
    image: "busybox",
    cpu: [{ id: "cpu3c", vcpuCount: 2 }],
    templateId: template.id,
  });
  const volumes = {
    networkVolumes: [volume],
    volumePlaces: [{ id: volume, dataCenter: "EU-RO-1", machine: null }],
  };
  for (let i = 0; i < count; i++) {
    await world.services.podRecords.pods.insert({
      id: nameOf("pod", i),
      account,
      createdAt: i,
      doc: podDoc({ mounts }),
    });
    const doc = { v: 1, ...endpoint, ...volumes, follows: true };
    const record = { kind: "endpoint", id: nameOf("ep", i), account, createdAt: i, doc, unique: [], listed: [] };
    await world.store.commit([{ do: "insert", record }]);
  }
}

async function readsOf(query: string, count: number): Promise<{ reads: number; found: Record<string, unknown[]> }> {
  const store = new CountingStore();
  await using world = await setup({ store, rateLimits: "off" });
  await fill(world, count);
  await dataOf(world, "{ myself { id } }");
  const before = store.reads;
  const { myself } = await dataOf(world, query);
  return { reads: store.reads - before, found: myself };
}

test("Pods with everything of them", async () => {
  const [few, many] = [await readsOf(PODS, 1), await readsOf(PODS, 500)];
  expect(many.found.pods).toHaveLength(500);
  expect(many.found.pods![0]).toMatchObject({ networkVolume: { name: "v" }, cpuFlavor: { id: "cpu3c" } });
  expect(many.reads).toBe(few.reads);
  expect(many.reads).toBeLessThanOrEqual(3);
});

test("endpoints with their templates, volumes and workers", async () => {
  const [few, many] = [await readsOf(ENDPOINTS, 1), await readsOf(ENDPOINTS, 500)];
  expect(many.found.endpoints).toHaveLength(500);
  expect(many.found.endpoints![0]).toMatchObject({
    template: { imageName: "busybox" },
    networkVolume: { name: "v" },
    pods: [],
  });
  expect(many.reads).toBe(few.reads);
  expect(many.reads).toBeLessThanOrEqual(5);
});
