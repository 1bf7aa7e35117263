/** The record of a stopped Pod. A test gives only the fields that it is about. */
import { saying } from "../src/kernel/reason.ts";
import { created } from "../src/resources/pods/fields.ts";
import type { PodStatus } from "../src/resources/pods/lifecycle.ts";
import type { KeptPod } from "../src/resources/pods/model.ts";
import type { World } from "./world.ts";

/** A test may set the status of a Pod. Elsewhere only a move of the lifecycle does. */
export type GivenPod = Partial<Omit<KeptPod, "status">> & { status?: PodStatus };

export function podDoc({ status = "EXITED", ...given }: GivenPod = {}): KeptPod {
  const config = created({ name: "old", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] });
  const past = { lastStatusChange: 0, startedAt: null, instance: null, last: null, machines: [], crashes: null };
  return {
    ...config,
    ...past,
    reason: saying("stopped-by-owner", "stopped"),
    publicPorts: {},
    ...given,
    status: status as KeptPod["status"],
  };
}

/** Puts a Pod on record for the first account, and returns its id. */
export async function putPod(world: World, given: GivenPod = {}, id = "thisisastopped"): Promise<string> {
  const { account } = world.owner;
  await world.services.podRecords.pods.insert({ id, account, createdAt: 0, doc: podDoc(given) });
  return id;
}
