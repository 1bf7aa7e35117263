/** The record of a worker. A test gives only the fields that it is about. */

import type { NewInstance } from "../src/machines/instance-records.ts";
import { NOWHERE } from "../src/machines/instances.ts";
import { ONLY_BOX } from "../src/ports/compute/compute.ts";
import type { KeptWorker, WorkerState } from "../src/resources/workers/model.ts";
import type { WorkerItem, WorkerRecords } from "../src/resources/workers/records.ts";

/** A test may set the state of a worker. Elsewhere only a move of the lifecycle does. */
export type GivenWorker = Partial<Omit<KeptWorker, "state">> & { state?: WorkerState };

export function workerDoc({ state = "WANTED", ...given }: GivenWorker = {}): KeptWorker {
  const unknown = { keyId: null, startedAt: null, readyAt: null, failedAt: null, reason: null };
  const about = { kind: "worker", owner: "ep", release: 1, image: "host:/app" } as const;
  const box = given.machine ? ONLY_BOX : null;
  return { ...NOWHERE, ...about, ...unknown, box, ...given, state: state as KeptWorker["state"] };
}

/** Puts a worker on record, on whatever machine it names. */
export async function putWorker(records: WorkerRecords, worker: NewInstance<KeptWorker>): Promise<WorkerItem> {
  return (await records.insert(worker, await records.instances.counted()))!;
}
