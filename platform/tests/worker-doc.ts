/** The record of a worker, of which a test says only what it is about. */
import { NOWHERE } from "../src/machines/instances.ts";
import { ONLY_BOX } from "../src/ports/compute/compute.ts";
import type { KeptWorker } from "../src/resources/workers/model.ts";

export function workerDoc(given: Partial<KeptWorker> = {}): KeptWorker {
  const unknown = { keyId: null, startedAt: null, readyAt: null, failedAt: null, reason: null };
  const about = { kind: "worker", owner: "ep", release: 1, state: "WANTED", image: "host:/app" } as const;
  const box = given.machine ? ONLY_BOX : null;
  return { ...NOWHERE, ...about, ...unknown, box, ...given };
}
