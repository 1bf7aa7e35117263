/** Answers the REST v2 operations on network volumes. */
import type { Handlers } from "../../kernel/operation.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { NetworkVolume } from "./model.ts";
import type { networkVolumeOperations } from "./operations.ts";
import type { NetworkVolumeService, VolumeItem } from "./service.ts";

export const networkVolumeHandlers = (volumes: NetworkVolumeService): Handlers<typeof networkVolumeOperations> => ({
  listNetworkVolumes: async ({ caller }) => ({ networkVolumes: (await volumes.list(caller)).map(shown) }),
  createNetworkVolume: async ({ caller, body }) => shown(await volumes.create(caller, body)),
  getNetworkVolume: async ({ caller, params }) => shown(await volumes.get(caller, params.id!)),
  updateNetworkVolume: async ({ caller, params, body }) => shown(await volumes.update(caller, params.id!, body)),
  deleteNetworkVolume: ({ caller, params }) => volumes.remove(caller, params.id!),
});

const shown = ({ id, doc }: VolumeItem): NetworkVolume =>
  recordFrom(NetworkVolume, { id, ...doc, sizeEnforced: doc.made?.sizeEnforced ?? false });
