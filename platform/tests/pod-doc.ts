/** The record of a Pod that is stopped, of which a test says only what it is about. */
import { saying } from "../src/kernel/reason.ts";
import { created } from "../src/resources/pods/fields.ts";
import type { KeptPod } from "../src/resources/pods/model.ts";
import type { World } from "./world.ts";

export function podDoc(given: Partial<KeptPod> = {}): KeptPod {
  const config = created({ name: "old", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] });
  const past = { lastStatusChange: 0, startedAt: null, instance: null, last: null, machines: [], crashes: null };
  return {
    ...config,
    ...past,
    status: "EXITED",
    reason: saying("stopped-by-owner", "stopped"),
    publicPorts: {},
    ...given,
  };
}

/** Puts one on record for the first account, and tells its id. */
export async function putPod(world: World, given: Partial<KeptPod> = {}, id = "thisisastopped"): Promise<string> {
  const { account } = world.owner;
  await world.services.podRecords.pods.insert({ id, account, createdAt: 0, doc: podDoc(given) });
  return id;
}
