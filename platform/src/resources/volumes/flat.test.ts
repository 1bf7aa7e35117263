/** The flat dialect of network volumes. */

import { volumeTypes } from "../../catalog/words.ts";
import { flatConformance } from "../../kernel/flat.conformance.ts";
import { networkVolumeDialect } from "./flat.ts";
import type { KeptNetworkVolume } from "./model.ts";

const whole: Required<KeptNetworkVolume> = {
  name: "models",
  size: 50,
  dataCenter: "EU-RO-1",
  type: "STANDARD",
  machine: null,
  made: { size: 50, sizeEnforced: true },
  claimsName: true,
  createdBy: "k",
  span: null,
  spans: 0,
  meteredUntil: 0,
};

flatConformance("network volumes", {
  dialect: networkVolumeDialect,
  whole: [whole],
  any: (random) => {
    const [size = 0, tier = 0] = random.bytes(2);
    return { name: "v", size: 10 + size, dataCenter: "EU-RO-1", type: volumeTypes[tier % 2]!, machine: null };
  },
  made: ({ name, size, dataCenter, type = "STANDARD" }) => ({ name, size, dataCenter, type, machine: null }),
});
