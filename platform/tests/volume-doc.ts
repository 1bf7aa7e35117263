/** Puts network volumes on record without a machine, for tests that only ask about them. */
import type { Machine } from "../src/machines/place.ts";
import { ONLY_BOX } from "../src/ports/compute/compute.ts";
import { idle } from "./idle.ts";
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

/** Makes a volume that this endpoint uses. */
export async function usedVolume(world: World, endpoint: string): Promise<string> {
  const volume = await putVolume(world);
  await world.call("PATCH", `/v2/serverless/${endpoint}`, { body: { networkVolumes: [volume] } });
  return volume;
}

/** A volume on the world's own machine, with a file `in/model.bin` of four bytes on it. */
export async function volumeWithFile(world: World): Promise<string> {
  await world.clock.advance(1000);
  await idle();
  const body = { name: "files", size: 10, dataCenter: "EU-RO-1" };
  const { json } = await world.call("POST", "/v2/network-volumes", { body });
  await world.call("PUT", `/v2/network-volumes/${json.id}/files/content?path=in/model.bin`, { body: "data" });
  return json.id;
}

/** A call that succeeds for each operation. */
export const goodVolumeCalls: Record<
  string,
  (world: World) => Promise<{ id?: string; body?: unknown; query?: string }>
> = {
  listVolumeFiles: async (world) => ({ id: await volumeWithFile(world), query: "?path=in" }),
  deleteVolumeFiles: async (world) => ({ id: await volumeWithFile(world), query: "?path=in&recursive=true" }),
  createVolumeFolder: async (world) => ({ id: await volumeWithFile(world), body: { path: "out" } }),
  moveVolumeFile: async (world) => ({ id: await volumeWithFile(world), body: { from: "in/model.bin", to: "m" } }),
  downloadVolumeFile: async (world) => ({ id: await volumeWithFile(world), query: "?path=in/model.bin" }),
  createVolumeFileLink: async (world) => ({ id: await volumeWithFile(world), body: { path: "in/model.bin" } }),
  uploadVolumeFile: async (world) => ({ id: await volumeWithFile(world), query: "?path=empty" }),
  listNetworkVolumes: async (world) => ({ id: await putVolume(world) }),
  createNetworkVolume: async (world) => {
    giveVolumesAPlace(world);
    return { body: { name: "models", size: 50, dataCenter: "EU-RO-1", type: "STANDARD" } };
  },
  getNetworkVolume: async (world) => ({ id: await putVolume(world) }),
  updateNetworkVolume: async (world) => ({ id: await putVolume(world), body: { name: "n", size: 60 } }),
  deleteNetworkVolume: async (world) => ({ id: await putVolume(world) }),
};
