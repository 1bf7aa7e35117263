/** The inputs for Pods, under the names that clients declare their variables with. */
import { GraphQLInputObjectType, GraphQLList } from "graphql";
import { podDialect } from "../../resources/pods/flat.ts";
import { Pod as PodModel } from "../../resources/pods/model.ts";
import { CloudTypeEnum, Compliance, ComputeType } from "./enums.ts";
import { allIn, flag, float, inputFields, int, text } from "./fields.ts";
import { DateTime, Port } from "./scalars.ts";

const texts = new GraphQLList(text);

const EnvironmentVariableInput = new GraphQLInputObjectType({
  name: "EnvironmentVariableInput",
  fields: allIn(text, "key", "value"),
});

export const variables = new GraphQLList(EnvironmentVariableInput);

const SavingsPlanInput = new GraphQLInputObjectType({
  name: "SavingsPlanInput",
  fields: { planLength: { type: text }, upfrontCost: { type: float } },
});

/** Fields that GraphQL has in another form. Those with null have other names, or an operation of their own. */
const otherwise = {
  ...{ env: variables, ports: text, cloudType: CloudTypeEnum, stopAfter: DateTime, terminateAfter: DateTime },
  ...{ gpuTypeIds: null, dataCenterIds: null, countryCodes: null, minRAMPerGPU: null, minVCPUPerGPU: null },
  ...{ interruptible: null, bidPerGpu: null, locked: null },
};

/** Conditions on the place. Clients also send `volumeKey`, `minDownload` and `minUpload`, which have no effect here. */
const place = {
  ...allIn(text, "dataCenterId", "countryCode", "volumeKey"),
  ...allIn(int, "minDownload", "minUpload"),
};

const onGpus = {
  ...inputFields(podDialect, { odd: otherwise }),
  ...place,
  ...allIn(text, "gpuTypeId", "cudaVersion", "aiApiId"),
  gpuTypeIdList: { type: texts },
  ...allIn(int, "minVcpuCount", "minMemoryInGb", "minDisk"),
  supportPublicIp: { type: flag },
  port: { type: Port },
  compliance: { type: new GraphQLList(Compliance) },
  computeType: { type: ComputeType },
};

export const PodFindAndDeployOnDemandInput = new GraphQLInputObjectType({
  name: "PodFindAndDeployOnDemandInput",
  fields: { ...onGpus, deployCost: { type: float }, savingsPlan: { type: SavingsPlanInput } },
});

export const PodRentInterruptableInput = new GraphQLInputObjectType({
  name: "PodRentInterruptableInput",
  fields: { ...onGpus, bidPerGpu: { type: float } },
});

/** Clients declare this name, with its lowercase first letter. */
export const DeployCpuPodInput = new GraphQLInputObjectType({
  name: "deployCpuPodInput",
  fields: {
    ...inputFields(podDialect, { odd: { ...otherwise, ...ofGpus() } }),
    ...place,
    instanceId: { type: text },
    deployCost: { type: float },
  },
});

/** Fields that a Pod on CPUs cannot have. */
function ofGpus() {
  const names = ["gpuCount", "allowedCudaVersions", "minCudaVersion", "instanceIds", "volumeInGb", "globalNetworking"];
  return Object.fromEntries(names.map((name) => [name, null]));
}

/** The model lets these be changed, but the clients of this field do not know them. */
const unedited = { name: null, locked: null, globalNetworking: null, networkVolumeId: null };

export const PodEditJobInput = new GraphQLInputObjectType({
  name: "PodEditJobInput",
  fields: {
    podId: { type: text },
    port: { type: Port },
    ...inputFields(podDialect, { within: PodModel.update, odd: { env: variables, ports: text, ...unedited } }),
  },
});

const ofOne = (name: string, fields: ReturnType<typeof allIn> = {}) =>
  new GraphQLInputObjectType({ name, fields: { podId: { type: text }, ...fields } });

export const PodFilter = ofOne("PodFilter");
export const PodTerminateInput = ofOne("PodTerminateInput");
export const PodStopInput = ofOne("PodStopInput", allIn(flag, "incrementVersion"));
export const PodBidResumeInput = ofOne("PodBidResumeInput", {
  ...allIn(int, "gpuCount"),
  ...allIn(float, "bidPerGpu"),
});
export const PodResumeInput = ofOne("PodResumeInput", {
  ...allIn(int, "gpuCount"),
  ...allIn(flag, "syncMachine"),
  ...allIn(ComputeType, "computeType"),
  ...allIn(texts, "allowedCudaVersions"),
});
