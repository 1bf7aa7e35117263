/** Answers the REST v1 operations on network volumes. */
import type { Call, Handlers } from "../../kernel/operation.ts";
import { type networkVolumeOperationsV1, networkVolumeShapes } from "./operations-v1.ts";
import type { NetworkVolumeService, VolumeItem } from "./service.ts";

type Operations = typeof networkVolumeOperationsV1;

export function networkVolumeHandlersV1(volumes: NetworkVolumeService): Handlers<Operations> {
  const update = async ({ caller, params, body }: Call<Operations["updateNetworkVolume"]>) => {
    const { doc } = await volumes.get(caller, params.networkVolumeId!);
    const terms = networkVolumeShapes.updated(body, doc);
    return shown(await volumes.update(caller, params.networkVolumeId!, terms, { uniqueName: true }));
  };
  return {
    listNetworkVolumes: async ({ caller }) => (await volumes.list(caller)).map(shown),
    createNetworkVolume: async ({ caller, body }) =>
      shown(await volumes.create(caller, networkVolumeShapes.created(body), { uniqueName: true })),
    getNetworkVolume: async ({ caller, params }) => shown(await volumes.get(caller, params.networkVolumeId!)),
    updateNetworkVolume: update,
    updateNetworkVolumeByPost: update,
    deleteNetworkVolume: ({ caller, params }) => volumes.remove(caller, params.networkVolumeId!),
  };
}

export const shown = ({ id, doc }: VolumeItem) => ({ id, ...networkVolumeShapes.of(doc) });
