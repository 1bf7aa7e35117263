/** Answers the REST v2 operations on network volumes. */
import type { Handlers } from "../../kernel/operation.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { type KeptVolumeUse, NetworkVolume } from "./model.ts";
import type { networkVolumeOperations } from "./operations.ts";
import type { NetworkVolumeService, VolumeItem } from "./service.ts";

export function networkVolumeHandlers(volumes: NetworkVolumeService): Handlers<typeof networkVolumeOperations> {
  const one = async (item: VolumeItem) => shown(item, await volumes.useOf(item.id));
  return {
    async listNetworkVolumes({ caller }) {
      const uses = await volumes.uses(caller);
      return { networkVolumes: (await volumes.list(caller)).map((item) => shown(item, uses.get(item.id))) };
    },
    createNetworkVolume: async ({ caller, body }) => one(await volumes.create(caller, body)),
    getNetworkVolume: async ({ caller, params }) => one(await volumes.get(caller, params.id!)),
    updateNetworkVolume: async ({ caller, params, body }) => one(await volumes.update(caller, params.id!, body)),
    deleteNetworkVolume: ({ caller, params }) => volumes.remove(caller, params.id!),
  };
}

function shown({ id, doc }: VolumeItem, use: KeptVolumeUse | undefined): NetworkVolume {
  const usedReason = use ? "It has too many files to count them in time." : "It has not been counted yet.";
  return recordFrom(NetworkVolume, {
    ...{ id, ...doc, sizeEnforced: doc.made?.sizeEnforced ?? false },
    ...{ usedBytes: use?.bytes ?? null, usedReason: use?.bytes === undefined ? usedReason : null },
  });
}
