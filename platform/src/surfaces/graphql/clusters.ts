/** Instant Clusters in GraphQL. */
import { GraphQLInputObjectType, GraphQLList, GraphQLObjectType } from "graphql";
import { problem } from "../../kernel/problem.ts";
import { clusterOperations } from "../../resources/clusters/operations.ts";
import type { ClusterItem } from "../../resources/clusters/service.ts";
import { podDialect } from "../../resources/pods/flat.ts";
import type { PodItem } from "../../resources/pods/records.ts";
import type { GraphContext, OperationFields } from "./context.ts";
import { ClusterTypeWord } from "./enums.ts";
import { all, allIn, flag, float, given, int, listOf, text } from "./fields.ts";
import { literally, orNull } from "./finding.ts";
import { change, lookup } from "./operations.ts";
import { variables } from "./pod-input-types.ts";
import { newPodFlat } from "./pod-inputs.ts";
import { podRow } from "./pod-rows.ts";
import { Pod } from "./pod-types.ts";
import { clusterWords } from "./words.ts";

const Cluster = new GraphQLObjectType<unknown, GraphContext>({
  name: "Cluster",
  fields: () => ({
    ...all(text, "id", "name", "type"),
    ...all(int, "podCount", "gpuCountPerPod"),
    pods: { type: listOf(Pod) },
  }),
});

const texts = new GraphQLList(text);

const CreateClusterInput = new GraphQLInputObjectType({
  name: "CreateClusterInput",
  fields: {
    ...allIn(text, "clusterName", "gpuTypeId", "imageName", "templateId", "networkVolumeId", "dataCenterId"),
    ...allIn(text, "dockerArgs", "ports", "volumeMountPath", "volumeKey"),
    ...allIn(texts, "dataCenterIds", "allowedCudaVersions"),
    type: { type: ClusterTypeWord },
    ...allIn(int, "podCount", "gpuCountPerPod", "volumeInGb", "throughput", "containerDiskInGb"),
    deployCost: { type: float },
    ...allIn(flag, "startSsh", "startJupyter"),
    env: { type: variables },
  },
});

const oneOf = (name: string) => ({ input: { type: new GraphQLInputObjectType({ name, fields: allIn(text, "id") }) } });

const idOf = ({ input }: { input?: { id?: string | null } | null }) => ({ id: input?.id ?? "" });

const row = ({ id, doc }: ClusterItem, members: readonly PodItem[], { services }: GraphContext) => ({
  id,
  name: doc.name,
  type: doc.type,
  podCount: doc.compute.podCount,
  gpuCountPerPod: doc.compute.gpuCountPerPod,
  pods: members.map((pod) => podRow(pod, services.podViews)),
});

export const ownClusters = {
  clusters: {
    type: listOf(Cluster),
    operation: lookup(clusterOperations.listClusters),
    async answer({ caller }, context) {
      const found = await context.services.clusters.list(caller);
      return found.map(({ cluster, members }) => row(cluster, members, context));
    },
  },
  cluster: {
    type: Cluster,
    args: oneOf("ClusterInput"),
    operation: lookup(clusterOperations.getCluster),
    params: idOf,
    async answer({ caller, params }, context) {
      const { clusters } = context.services;
      const found = await orNull(clusters.get(caller, params.id!));
      return found && row(found, await clusters.members(found), context);
    },
  },
} satisfies OperationFields;

/** Reads the members' container as for any Pod, and their number and GPUs as for a cluster. */
function clusterTerms(input: unknown) {
  const said = given(input, "clusterName");
  const { clusterName: name, type, gpuTypeId, gpuCountPerPod, podCount } = said;
  const { gpu: _, mountPath: __, isDefaultPath: ___, ...members } = podDialect.terms(newPodFlat(input));
  const dataCenters = given({ dataCenterIds: said.dataCenterIds });
  return {
    ...members,
    ...dataCenters,
    ...given({ name, type }),
    compute: given({ gpuTypeId, gpuCountPerPod, podCount }),
  };
}

export const clusterMutations = {
  createCluster: {
    type: Cluster,
    args: { input: { type: CreateClusterInput } },
    operation: change(clusterOperations.createCluster, clusterOperations.createCluster.in),
    words: clusterWords,
    body: ({ input }) => clusterTerms(input),
    async answer({ caller, body }, context, { input }) {
      const mostPerHour = input?.deployCost as number | null | undefined;
      if (mostPerHour === null || mostPerHour === undefined)
        throw problem(
          "rule-broken",
          "insufficient resources: 'deployCost' says what the whole cluster may cost per hour.",
        );
      const { clusters } = context.services;
      const cluster = await clusters.create(caller, body, { mostPerHour });
      return row(cluster, await clusters.members(cluster), context);
    },
  },
  deleteCluster: {
    type: flag,
    args: oneOf("DeleteClusterInput"),
    operation: change(clusterOperations.deleteCluster),
    params: idOf,
    async answer({ caller, params }, { services }) {
      await services.clusters.remove(caller, params.id!);
      return true;
    },
    literal: literally("not-found", { message: "Cluster not found", code: "Cluster not found" }),
  },
} satisfies OperationFields;
