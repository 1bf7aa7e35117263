/** Operations on Instant Clusters. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { t } from "../../kernel/schema.ts";
import { CLUSTER_SAID_BYTES, Pod } from "../pods/model.ts";
import { Cluster } from "./model.ts";

const on = operationsOn(Cluster, "/v2/clusters", {
  tag: "Clusters",
  scope: "clusters",
  one: "a cluster",
  many: "clusters",
});

export const clusterOperations = {
  listClusters: on.find({}, { description: "Newest first." }),
  createCluster: on.create({
    description:
      "From `image`, or from `templateId`. There are places for all members before the answer, on one machine if possible, or for none: a refusal says what they " +
      "need and how much of that is free. Members are Pods: they keep rank and address for life, and are started again when they fail.",
    refuses: ["not-found", "no-capacity", "unpaid", "over-quota"],
    bodyLimit: CLUSTER_SAID_BYTES,
  }),
  getCluster: on.get(),
  updateCluster: on.update({ description: "Renames it. Nothing else of a cluster changes." }),
  deleteCluster: on.remove({
    description: "Ends all members and removes what they stored; a network volume stays.",
  }),
  listClusterPods: {
    method: "GET",
    path: "/v2/clusters/{id}/pods",
    summary: "List the members of a cluster",
    description: "By rank.",
    tag: "Clusters",
    out: t.Object({ pods: t.Array(Pod.record) }),
    status: 200,
    scope: "clusters:read",
    narrowed: "refused",
  },
} satisfies Operations;
