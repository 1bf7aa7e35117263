/** The types of Pods and endpoints, together since each shows the other. Most fields derive from the models; odd ones are written out. */
import { GraphQLNonNull, GraphQLObjectType, type GraphQLOutputType } from "graphql";
import { flatCpuFlavors, knownGpuType } from "../../resources/catalog/flat-view.ts";
import { endpointDialect } from "../../resources/endpoints/flat.ts";
import { podDialect } from "../../resources/pods/flat.ts";
import { CpuFlavor, CpuType, GpuType } from "./catalog.ts";
import type { GraphContext } from "./context.ts";
import { type EndpointRow, templateOf, workersOf } from "./endpoint-rows.ts";
import { Compliance, ComputeType, PodStatus, PodType } from "./enums.ts";
import { all, flag, float, int, listOf, outputFields, text } from "./fields.ts";
import type { PodRow } from "./pod-rows.ts";
import { DateTime, Json, Port } from "./scalars.ts";
import { EnvironmentVariable, PodTemplate } from "./template-types.ts";
import { NetworkVolume, volumeNamed } from "./volumes.ts";

const always = (type: GraphQLOutputType) => ({ type: new GraphQLNonNull(type) });

const allAlways = (type: GraphQLOutputType, ...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, always(type)]));

const plain = (name: string, fields: ConstructorParameters<typeof GraphQLObjectType>[0]["fields"]) =>
  new GraphQLObjectType({ name, fields });

const PodRuntimePorts = plain("PodRuntimePorts", {
  ...all(text, "ip", "type"),
  ...all(int, "privatePort", "publicPort"),
  isIpPublic: { type: flag },
});

const PodRuntime = plain("PodRuntime", {
  uptimeInSeconds: { type: int },
  container: { type: plain("PodRuntimeContainer", all(int, "cpuPercent", "memoryPercent")) },
  gpus: {
    type: listOf(plain("PodRuntimeGpus", { id: { type: text }, ...all(int, "gpuUtilPercent", "memoryUtilPercent") })),
  },
  ports: { type: listOf(PodRuntimePorts) },
});

interface MachineRow {
  gpuTypeId: string | null;
}

const PodMachineInfo = new GraphQLObjectType<MachineRow, GraphContext>({
  name: "PodMachineInfo",
  fields: () => ({
    ...all(
      text,
      "id",
      "gpuDisplayName",
      "gpuTypeId",
      "location",
      "machineType",
      "note",
      "maintenanceNote",
      "podHostId",
    ),
    ...all(text, "runpodIp", "dataCenterId", "cpuTypeId"),
    ...all(float, "costPerHr", "currentPricePerGpu"),
    ...all(int, "diskMBps", "gpuAvailable", "maxDownloadSpeedMbps", "maxUploadSpeedMbps", "minPodGpuCount"),
    ...all(int, "cpuCount", "vcpuTotal", "vcpuReserved", "memoryTotal", "memoryReserved"),
    ...all(flag, "listed", "secureCloud", "supportPublicIp"),
    ...all(DateTime, "maintenanceStart", "maintenanceEnd"),
    gpuType: {
      type: GpuType,
      resolve: ({ gpuTypeId }, _args, { services }) =>
        gpuTypeId === null ? null : knownGpuType(services.catalog, gpuTypeId),
    },
    cpuType: { type: CpuType },
    machineSystem: {
      type: plain("MachineSystem", {
        ...all(text, "os", "cudaVersion", "dockerVersion", "kernelVersion"),
        ...all(int, "diskTotal", "diskFree"),
      }),
    },
  }),
});

const GpuUse = plain("PodTelemetryGpu", all(float, "percentUtilization", "memoryUtilization", "temperatureCelcius"));

const PodTelemetry = plain("PodTelemetry", {
  state: { type: text },
  time: { type: DateTime },
  ...all(float, "cpuUtilization", "memoryUtilization"),
  averageGpuMetrics: { type: GpuUse },
  individualGpuMetrics: { type: listOf(GpuUse) },
  lastStateTransitionTimestamp: { type: int },
});

const SavingsPlan = plain("SavingsPlan", {
  ...all(text, "id", "podId", "gpuTypeId"),
  costPerHr: { type: float },
  ...all(DateTime, "startTime", "endTime"),
});

/** Older clients ask for this, but it is always null. */
const PodRegistry = plain("PodRegistry", all(text, "auth", "pass", "url", "user", "username"));

export const Pod: GraphQLObjectType<PodRow, GraphContext> = new GraphQLObjectType<PodRow, GraphContext>({
  name: "Pod",
  fields: () => ({
    ...outputFields(podDialect, {
      odd: { env: listOf(text), ports: text, stopAfter: DateTime, terminateAfter: DateTime },
    }),
    ...allAlways(text, "id", "name", "imageName", "machineId"),
    desiredStatus: always(PodStatus),
    ...allAlways(float, "costPerHr", "adjustedCostPerHr", "memoryInGb", "vcpuCount"),
    ...allAlways(int, "gpuCount", "gpuPowerLimitPercent"),
    gpus: always(listOf(plain("Gpu", allAlways(text, "id", "podId")))),
    volumeEncrypted: always(flag),
    ...all(text, "dockerId", "lastStatusChange", "volumeKey", "apiKey", "aiApiId", "consumerUserId", "machineType"),
    ...all(text, "cpuFlavorId", "clusterId", "clusterIp", "clusterCidr", "clusterRole", "publicIp"),
    podType: { type: PodType },
    port: { type: Port },
    ...all(int, "uptimeSeconds", "version", "slsVersion", "clusterIdx"),
    ...all(float, "volumeInGb", "costMultiplier", "lowestBidPriceToResume"),
    ...all(DateTime, "createdAt", "lastStartedAt"),
    registry: { type: PodRegistry },
    runtime: { type: PodRuntime },
    machine: { type: PodMachineInfo },
    latestTelemetry: { type: PodTelemetry },
    savingsPlans: { type: listOf(SavingsPlan) },
    cpuFlavor: {
      type: CpuFlavor,
      resolve: ({ cpuFlavorId }) => flatCpuFlavors().find(({ id }) => id === cpuFlavorId) ?? null,
    },
    // Only a worker has an endpoint.
    endpoint: { type: Endpoint },
    networkVolume: {
      type: NetworkVolume,
      resolve: ({ networkVolumeId }, _args, context) => volumeNamed(networkVolumeId, context),
    },
  }),
});

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
    modelReferences: { type: listOf(text) },
    compliance: { type: listOf(Compliance) },
    env: { type: listOf(EnvironmentVariable) },
    networkVolume: {
      type: NetworkVolume,
      resolve: ({ networkVolumeId }, _args, context) => volumeNamed(networkVolumeId, context),
    },
    template: { type: PodTemplate, resolve: templateOf },
    pods: { type: listOf(Pod), resolve: workersOf },
    // Millrace does not record these.
    ...all(listOf(Json), "workerState", "webhookRequests"),
  }),
});
