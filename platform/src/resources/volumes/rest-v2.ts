/** Network volumes as REST v2 says them. */
import type { Handlers } from "../../kernel/operation.ts";
import type { NetworkVolume } from "./model.ts";
import type { networkVolumeOperations } from "./operations.ts";
import type { NetworkVolumeService, VolumeItem } from "./service.ts";

export const networkVolumeHandlers = (volumes: NetworkVolumeService): Handlers<typeof networkVolumeOperations> => ({
  listNetworkVolumes: async ({ caller }) => ({ networkVolumes: (await volumes.list(caller)).map(shown) }),
  createNetworkVolume: async ({ caller, body }) => shown(await volumes.create(caller, body)),
  getNetworkVolume: async ({ caller, params }) => shown(await volumes.get(caller, params.id!)),
  updateNetworkVolume: async ({ caller, params, body }) => shown(await volumes.update(caller, params.id!, body)),
  deleteNetworkVolume: ({ caller, params }) => volumes.remove(caller, params.id!),
});

function shown({ id, doc: { name, size, dataCenter, type, made } }: VolumeItem): NetworkVolume {
  return { id, name, size, dataCenter, type, sizeEnforced: made?.sizeEnforced ?? false };
}
