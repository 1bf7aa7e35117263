/** Network volumes put on record without a machine, for tests of what is asked about them. */
import type { Machine } from "../src/machines/place.ts";
import { ONLY_BOX } from "../src/ports/compute/compute.ts";
import type { World } from "./world.ts";

export async function putVolume({ services, owner, clock }: World, name = "models"): Promise<string> {
  const id = "thisisavolume1";
  const doc = { name, size: 50, dataCenter: "EU-RO-1", type: "STANDARD" as const, machine: "m1" };
  const record = { id, account: owner.account, createdAt: clock.now(), doc };
  return (await services.volumes.records.volumes.insert(record)).id;
}

const box = { id: ONLY_BOX, vcpu: 8, memoryMb: 8192, diskGb: 1000, gpus: [], ceilings: false };
const machine: Machine = { id: "m1", boxes: [box], dataCenter: "EU-RO-1", volumes: "own" };

/** From now on there is a machine in EU-RO-1 for volumes. */
export function giveVolumesAPlace({ app }: World): void {
  const nobody = { silent: new Map(), activeAt: new Map(), demand: new Map(), peers: [] };
  app.machines.roll = async () => ({ ...nobody, machines: [machine] });
}

/** One that this endpoint has. */
export async function usedVolume(world: World, endpoint: string): Promise<string> {
  const volume = await putVolume(world);
  await world.call("PATCH", `/v2/serverless/${endpoint}`, { body: { networkVolumes: [volume] } });
  return volume;
}

/** For each operation a call that succeeds. */
export const goodVolumeCalls: Record<string, (world: World) => Promise<{ id?: string; body?: unknown }>> = {
  listNetworkVolumes: async (world) => ({ id: await putVolume(world) }),
  createNetworkVolume: async (world) => {
    giveVolumesAPlace(world);
    return { body: { name: "models", size: 50, dataCenter: "EU-RO-1", type: "STANDARD" } };
  },
  getNetworkVolume: async (world) => ({ id: await putVolume(world) }),
  updateNetworkVolume: async (world) => ({ id: await putVolume(world), body: { name: "n", size: 60 } }),
  deleteNetworkVolume: async (world) => ({ id: await putVolume(world) }),
};
