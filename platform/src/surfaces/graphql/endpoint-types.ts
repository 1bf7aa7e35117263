/** The inputs for saving endpoints. */
import { GraphQLInputObjectType, GraphQLList } from "graphql";
import { endpointDialect } from "../../resources/endpoints/flat.ts";
import { Compliance, ComputeType } from "./enums.ts";
import { allIn, inputFields, int, text } from "./fields.ts";
import { variables } from "./pod-input-types.ts";
import { EndpointTemplateInput } from "./template-types.ts";

const NetworkVolumeIdsInput = new GraphQLInputObjectType({
  name: "NetworkVolumeIdsInput",
  fields: allIn(text, "networkVolumeId"),
});

/** Fields that GraphQL has in another form. GPU types and data centers (null here) have other names: clients send pools and locations. */
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
