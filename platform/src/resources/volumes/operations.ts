/** Operations on network volumes. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { NetworkVolume } from "./model.ts";

const on = operationsOn(NetworkVolume, "/v2/network-volumes", {
  tag: "Network volumes",
  scope: "network-volumes",
  one: "a network volume",
  many: "networkVolumes",
});

export const networkVolumeOperations = {
  listNetworkVolumes: on.find({}, { summary: "List network volumes", description: "Newest first." }),
  createNetworkVolume: on.create({
    description: "The data center and the tier must be offered by this installation; a refusal says which are.",
    refuses: ["unpaid"],
  }),
  getNetworkVolume: on.get(),
  updateNetworkVolume: on.update({
    description: "Renames it or lets it grow: programs that have it mounted get the room at once. No volume shrinks.",
    refuses: ["unpaid"],
  }),
  deleteNetworkVolume: on.remove({
    description: "With all that it holds. Refused while something uses it, with the list of what does.",
    refuses: ["rule-broken"],
  }),
} satisfies Operations;
