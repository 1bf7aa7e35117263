/** The types of endpoints, and the inputs that they are saved with. */
import { GraphQLInputObjectType, GraphQLList, GraphQLObjectType } from "graphql";
import { endpointDialect } from "../../resources/endpoints/flat.ts";
import type { GraphContext } from "./context.ts";
import { type EndpointRow, templateOf, workersOf } from "./endpoint-rows.ts";
import { Compliance, ComputeType } from "./enums.ts";
import { all, allIn, inputFields, int, listOf, outputFields, text } from "./fields.ts";
import { variables } from "./pod-input-types.ts";
import { Pod } from "./pod-types.ts";
import { Json } from "./scalars.ts";
import { EndpointTemplateInput, EnvironmentVariable, PodTemplate } from "./template-types.ts";
import { NetworkVolume, volumeNamed } from "./volumes.ts";

const texts = listOf(text);

const PlacedVolume = new GraphQLObjectType({
  name: "EndpointNetworkVolume",
  fields: all(text, "networkVolumeId", "dataCenterId"),
});

export const Endpoint: GraphQLObjectType<EndpointRow, GraphContext> = new GraphQLObjectType({
  name: "Endpoint",
  fields: () => ({
    ...outputFields(endpointDialect, {
      odd: { allowedCudaVersions: text, networkVolumeIds: listOf(PlacedVolume), scalerValue: int },
    }),
    ...all(text, "id", "aiKey", "gpuIds", "networkVolumeId", "locations", "userId", "createdAt"),
    ...all(text, "flashEnvironmentId", "activeBuildid", "idePodId", "hubReleaseId"),
    ...all(int, "version", "workersStandby", "workersPFBTarget"),
    computeType: { type: ComputeType },
    modelReferences: { type: texts },
    compliance: { type: listOf(Compliance) },
    env: { type: listOf(EnvironmentVariable) },
    networkVolume: {
      type: NetworkVolume,
      resolve: ({ networkVolumeId }, _args, context) => volumeNamed(networkVolumeId, context),
    },
    template: { type: PodTemplate, resolve: templateOf },
    pods: { type: listOf(Pod), resolve: workersOf },
    // Figures that nobody here keeps.
    ...all(listOf(Json), "workerState", "webhookRequests"),
  }),
});

const NetworkVolumeIdsInput = new GraphQLInputObjectType({
  name: "NetworkVolumeIdsInput",
  fields: allIn(text, "networkVolumeId"),
});

/** Said by names of types; clients say pools. */
const otherwise = {
  ...{ gpuTypeIds: null, dataCenterIds: null, allowedCudaVersions: text, scalerValue: int },
  networkVolumeIds: new GraphQLList(NetworkVolumeIdsInput),
};

export const EndpointInput = new GraphQLInputObjectType({
  name: "EndpointInput",
  fields: {
    ...inputFields(endpointDialect, { odd: otherwise }),
    ...allIn(
      text,
      "id",
      "gpuIds",
      "networkVolumeId",
      "locations",
      "flashEnvironmentId",
      "hubReleaseId",
      "activeBuildid",
    ),
    workersPFBTarget: { type: int },
    modelReferences: { type: new GraphQLList(text) },
    compliance: { type: new GraphQLList(Compliance) },
    template: { type: EndpointTemplateInput },
    env: { type: variables },
    computeType: { type: ComputeType },
  },
});

export const UpdateEndpointTemplateInput = new GraphQLInputObjectType({
  name: "UpdateEndpointTemplateInput",
  fields: allIn(text, "endpointId", "templateId"),
});
