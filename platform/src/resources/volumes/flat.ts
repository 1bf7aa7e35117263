/** The flat dialect of network volumes. */
import { flatDialect } from "../../kernel/flat.ts";
import { type KeptNetworkVolume, NetworkVolume } from "./model.ts";
import type { NewVolume } from "./service.ts";

export const networkVolumeDialect = flatDialect<KeptNetworkVolume, NewVolume>(NetworkVolume, {
  unsaid: {
    machine: "where it is, which nobody gives",
    made: "what its machine has made of it, which nobody gives",
    createdBy: "the key by which it was made, which limits on that ask for",
    claimsName: "whether no other one may have its name",
    span: "what is metered of it",
    spans: "what is metered of it",
    meteredUntil: "what is metered of it",
  },
});
