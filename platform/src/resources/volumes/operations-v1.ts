/** Operations on network volumes in REST v1. */
import { flatOperationsOn } from "../../kernel/flat-operations-on.ts";
import { type Face, flatShapes } from "../../kernel/flat-shapes.ts";
import type { Operations } from "../../kernel/operation.ts";
import { networkVolumeDialect } from "./flat.ts";
import { NetworkVolume } from "./model.ts";

const networkVolumeFace: Face = {
  called: "NetworkVolume",
  assigned: { id: NetworkVolume.record.properties.id },
  always: ["id", "name", "size", "dataCenterId"],
};

export const networkVolumeShapes = flatShapes(NetworkVolume, networkVolumeDialect, networkVolumeFace);

const on = flatOperationsOn(networkVolumeShapes, "/v1/networkvolumes", {
  tag: "Network volumes",
  scope: "network-volumes",
  one: "a network volume",
  many: "network volumes",
  id: "networkVolumeId",
});

export const networkVolumeOperationsV1 = {
  listNetworkVolumes: on.list({}),
  createNetworkVolume: on.create({ refuses: ["unpaid"] }),
  getNetworkVolume: on.get(),
  updateNetworkVolume: on.update({ refuses: ["unpaid"] }),
  updateNetworkVolumeByPost: on.updateByPost({ refuses: ["unpaid"] }),
  deleteNetworkVolume: on.remove({ refuses: ["rule-broken"] }),
} satisfies Operations;
