/** Moves the workers of earlier releases, which had records of their own, into the records of instances. */
import type { Document, Kept } from "../../kernel/document.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import { ONLY_BOX } from "../../ports/compute/compute.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";
import type { KeptWorker } from "./model.ts";

const oldWorkers: Kept<Document> = { kind: "worker", v: 1 };

/**
 * Writes the new record before it removes the old one. If this is interrupted in between, the next start finds both and removes the old
 * one.
 */
export async function moveOldWorkers(store: Store, instances: InstanceRecords): Promise<void> {
  const old = new Collection(store, oldWorkers);
  for await (const { id, account, createdAt, doc } of old.all()) {
    const renewedOne = { id, account, createdAt, doc: renewed(doc) };
    if (!(await instances.find(id))) await instances.insert([renewedOne], await instances.counted());
    await old.removeIfThere(id);
  }
}

function renewed({ endpoint, gpus, v: _, ...doc }: Document): KeptWorker {
  const devices = gpus as string[];
  const box = doc.machine === null ? null : ONLY_BOX;
  const placed = { box, dataCenter: null, diskGb: 0, flavor: null, ...(devices.length > 0 && { devices }) };
  return { ...placed, ...doc, kind: "worker", owner: endpoint } as unknown as KeptWorker;
}
