/** Compares the document with the field-level facts of the API: same names, same required ones, and our additions marked as ours. */
import { expect, test } from "vitest";
import { openApiDocument } from "./openapi.ts";

interface Shape {
  properties: Record<string, unknown>;
  required?: string[];
}

const document = openApiDocument() as unknown as {
  components: { schemas: Record<string, Shape> };
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>;
};

const words = (text: string) => text.split(/\s+/).filter(Boolean).toSorted();

const CONTAINER = "image args entrypoint cmd disk env ports registry";

/** For each record and body: the API's names, the ones that are always present, and the ones that we added. */
const shapes: Record<string, { names: string; required: string; ours?: string }> = {
  Pod: {
    names: `id name status actions ${CONTAINER} mounts gpu cpu cloud dataCenterId cudaVersion ssh template cost locked
      globalNetworking runtime createdAt startedAt cluster`,
    required: `id name status actions ${CONTAINER} mounts cloud dataCenterId cudaVersion ssh template cost locked
      globalNetworking runtime createdAt startedAt`,
    ours: "statusReason statusReasonCode lastStatusChange idleTimeout",
  },
  CreatePodRequest: {
    names: `name ${CONTAINER} gpu cpu cloud dataCenterIds globalNetworking mounts startSsh startJupyter templateId`,
    required: "name",
    ours: "idleTimeout locked",
  },
  UpdatePodRequest: {
    names: `name ${CONTAINER} mounts locked globalNetworking templateId`,
    required: "",
    ours: "idleTimeout",
  },
  Cluster: {
    names: "id name type compute pods createdAt template dataCenterId network primary",
    required: "id name type compute pods createdAt",
    ours: "actions",
  },
  CreateClusterRequest: {
    names: `name type compute ${CONTAINER.replace(" registry", "")} mounts dataCenterIds startSsh startJupyter templateId`,
    required: "name type compute",
  },
  UpdateClusterRequest: { names: "name", required: "" },
  Template: {
    names: `id name ${CONTAINER} mounts serverless public category startSsh startJupyter allowedCudaVersions`,
    required: `id name ${CONTAINER} mounts serverless public category startSsh startJupyter allowedCudaVersions`,
  },
  CreateTemplateRequest: {
    names: `name ${CONTAINER} mounts serverless public category startSsh startJupyter allowedCudaVersions`,
    required: "name image",
  },
  UpdateTemplateRequest: {
    names: `name ${CONTAINER} mounts serverless public category startSsh startJupyter allowedCudaVersions`,
    required: "",
  },
  NetworkVolume: {
    names: "id name size dataCenter type",
    required: "id name size dataCenter type",
    ours: "sizeEnforced usedBytes usedReason",
  },
  CreateNetworkVolumeRequest: { names: "name size dataCenter type", required: "name size dataCenter" },
  UpdateNetworkVolumeRequest: { names: "name size", required: "" },
  Registry: { names: "id name", required: "id name" },
  CreateRegistryRequest: { names: "name username password", required: "name username password" },
  RegistryDelegation: {
    names: "id delegatorUserId awsUser repository tag awsRegion createdAt name dockerRegistryUri",
    required: "id delegatorUserId awsUser repository tag awsRegion createdAt",
  },
  CreateRegistryDelegationRequest: { names: "resource name", required: "resource" },
  GpuType: {
    names: `id name pool manufacturer memory secure community price maxCount availability dataCenters cudaVersions`,
    required: "id name pool manufacturer memory secure community price maxCount",
    ours: "virtual",
  },
  CpuType: {
    names: "id name group vcpu ramGbPerVcpu price availability dataCenters",
    required: "id name group vcpu ramGbPerVcpu price",
  },
  DataCenter: {
    names: "id name region globalNetwork networkVolumeTypes compliance gpuAvailability cpuAvailability",
    required: "id name region globalNetwork networkVolumeTypes compliance",
    ours: "networkVolumePrices",
  },
  ...billing(
    "BillingHistory",
    `podGpuAmount podCpuAmount podDiskAmount serverlessGpuAmount serverlessCpuAmount serverlessDiskAmount
    serverlessFeeAmount storageStandardAmount storageHighPerformanceAmount endpointAmount clusterGpuAmount clusterDiskAmount
    clusterNetworkingAmount`,
  ),
  ...billing("PodBilling", "podId gpuAmount cpuAmount diskAmount"),
  ...billing("ServerlessBilling", "serverlessId gpuAmount cpuAmount diskAmount feeAmount"),
  ...billing("EndpointBilling", ""),
  ...billing("NetworkVolumeBilling", "networkVolumeId standardAmount highPerformanceAmount"),
  ...billing("ClusterBilling", "clusterId gpuAmount diskAmount networkingAmount"),
};

function billing(called: string, fields: string): typeof shapes {
  const names = `startTime endTime totalAmount ${fields}`;
  return {
    [called]: { names: "records metadata", required: "records metadata" },
    [`${called}Record`]: { names, required: names },
  };
}

test.each(Object.entries(shapes))("%s has the fields of the API, and ours beside them", (name, shape) => {
  const { properties, required = [] } = document.components.schemas[name]!;
  const { names, required: always, ours = "" } = shape;
  expect(Object.keys(properties).toSorted()).toEqual(words(`${names} ${ours}`));
  expect(required.filter((field) => !words(ours).includes(field)).toSorted()).toEqual(words(always));
});

/** Method, path, operation and success status, with the refusals of its own. */
const index = `
GET /v2/pods listPods 200
POST /v2/pods createPod 201 400 404 413 422
GET /v2/pods/{id} getPod 200 404
PATCH /v2/pods/{id} updatePod 200 400 404 409 422
DELETE /v2/pods/{id} deletePod 204 404 409
GET /v2/pods/{id}/logs getPodLogs 200 404
POST /v2/pods/{id}/action podAction 200 204 400 404 409 422
GET /v2/clusters listClusters 200
POST /v2/clusters createCluster 201 400 422
GET /v2/clusters/{id} getCluster 200 404
PATCH /v2/clusters/{id} updateCluster 200 400 404 422
DELETE /v2/clusters/{id} deleteCluster 204 404
GET /v2/clusters/{id}/pods listClusterPods 200 404
GET /v2/templates listTemplates 200
POST /v2/templates createTemplate 201 400 422
GET /v2/templates/{id} getTemplate 200 404
PATCH /v2/templates/{id} updateTemplate 200 400 404 422
DELETE /v2/templates/{id} deleteTemplate 204 400 404
GET /v2/network-volumes listNetworkVolumes 200
POST /v2/network-volumes createNetworkVolume 201 400 422
GET /v2/network-volumes/{id} getNetworkVolume 200 404
PATCH /v2/network-volumes/{id} updateNetworkVolume 200 400 404 422
DELETE /v2/network-volumes/{id} deleteNetworkVolume 204 404
GET /v2/registries listRegistries 200
POST /v2/registries createRegistry 201 400 422
GET /v2/registries/{id} getRegistry 200 404
DELETE /v2/registries/{id} deleteRegistry 204 400 404
GET /v2/registries/delegations listDelegations 200
POST /v2/registries/delegations createDelegation 201
DELETE /v2/registries/delegations/{id} revokeDelegation 204 404
GET /v2/catalog/gpus listGpuTypes 200 400 422
GET /v2/catalog/gpus/{id} getGpuType 200 404
GET /v2/catalog/cpus listCpuTypes 200 400 422
GET /v2/catalog/cpus/{id} getCpuType 200 404
GET /v2/catalog/datacenters listDataCenters 200 422
GET /v2/catalog/datacenters/{id} getDataCenter 200 404
GET /v2/catalog/templates listPublicTemplates 200
GET /v2/billing listBilling 200 400
GET /v2/billing/pods listPodBilling 200 400
GET /v2/billing/serverless listServerlessBilling 200 400
GET /v2/billing/endpoints listEndpointBilling 200 400
GET /v2/billing/network-volumes listNetworkVolumeBilling 200 400
GET /v2/billing/clusters listClusterBilling 200 400
`;

test.each(index.trim().split("\n"))("%s", (line) => {
  const [method, path, operationId, ...statuses] = line.split(" ") as [string, string, string, ...string[]];
  const described = document.paths[path]![method.toLowerCase()]!;
  expect(described.operationId).toBe(operationId);
  expect(Object.keys(described.responses)).toEqual(
    expect.arrayContaining([...statuses, "401", "403", "429", "default"]),
  );
});
