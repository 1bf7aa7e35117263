/** The enums that clients name by their types. */
import { GraphQLEnumType } from "graphql";
import { compliances } from "../../resources/catalog/flat-view.ts";
import { clusterTypes } from "../../resources/clusters/model.ts";
import { clouds } from "../../resources/pods/model.ts";

const words = (name: string, values: readonly string[]) =>
  new GraphQLEnumType({ name, values: Object.fromEntries(values.map((value) => [value, { value }])) });

/** `ALL` leaves the choice to the server. */
export const CloudTypeEnum = words("CloudTypeEnum", [...clouds, "ALL"]);

/** Clients know all of these, but the server never sends some of them. */
export const PodStatus = words("PodStatus", [
  ...["CREATED", "RUNNING", "RESTARTING", "EXITED", "PAUSED", "DEAD", "TERMINATED"],
]);

export const PodType = words("PodType", ["INTERRUPTABLE", "RESERVED", "BID", "BACKGROUND"]);
export const ComputeType = words("ComputeType", ["CPU", "GPU"]);
export const ClusterTypeWord = words("ClusterType", clusterTypes);

/** The certifications of data centers that clients can ask for. */
export const Compliance = words("Compliance", compliances);
