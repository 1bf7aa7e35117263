/** The documents that the Terraform and Pulumi providers send: every variable is declared with its type. */
import { expect, test } from "vitest";
import { told } from "../../../tests/graphql-calls.ts";
import { setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

test("Terraform reads a Pod, and null for one that is gone", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { id } = await world.create({ name: "p", image: "host:/app", gpu: { id: "NVIDIA A40" }, env: { A: "b" } });
  const query = `query Pod($podId: String!) {
    pod(input: {podId: $podId}) {
      id name desiredStatus imageName machineId machineType gpuCount costPerHr memoryInGb volumeInGb volumeMountPath volumeKey ports
      lastStatusChange dockerArgs env templateId containerDiskInGb machine { gpuType { id } }
    }
  }`;
  expect((await told(world, query, { podId: id })).pod).toMatchObject({
    id,
    desiredStatus: "RUNNING",
    env: ["A=b"],
    templateId: null,
    volumeKey: null,
    machine: { gpuType: { id: "NVIDIA A40" } },
  });
  expect((await told(world, query, { podId: "aaaaaaaaaaaaaa" })).pod).toBeNull();
});

test("Terraform makes a cluster, reads it by its id, deletes it, and then reads null", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const create = `mutation CreateCluster($input: CreateClusterInput!) { createCluster(input: $input) { id name type podCount } }`;
  const input = {
    gpuTypeId: "NVIDIA A40",
    podCount: 2,
    gpuCountPerPod: 1,
    type: "TRAINING",
    clusterName: "train",
    deployCost: 50,
    templateId: "",
    imageName: "host:/app",
    containerDiskInGb: 20,
    ports: "22/tcp",
    networkVolumeId: "",
    dataCenterIds: ["EU-RO-1"],
    env: [{ key: "A", value: "b" }],
  };
  const { createCluster: made } = await told(world, create, { input });
  expect(made).toEqual({ id: expect.any(String), name: "train", type: "TRAINING", podCount: 2 });
  const read = `query Cluster($id: String!) { myself { cluster(input: {id: $id}) {
    id name type podCount gpuCountPerPod pods { id name clusterIdx clusterRole clusterIp desiredStatus }
  } } }`;
  expect((await told(world, read, { id: made.id })).myself.cluster).toEqual({
    ...made,
    gpuCountPerPod: 1,
    pods: [0, 1].map((rank) => ({
      id: expect.any(String),
      name: `train-${rank}`,
      clusterIdx: rank,
      clusterRole: null,
      clusterIp: expect.toBeOneOf([null, expect.any(String)]),
      desiredStatus: "RUNNING",
    })),
  });
  await told(world, `mutation DeleteCluster($id: String!) { deleteCluster(input: {id: $id}) }`, { id: made.id });
  expect((await told(world, read, { id: made.id })).myself.cluster).toBeNull();
});

test("Pulumi makes a Pod, each input as a variable of its own", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const query = `mutation deploy(
    $cloudType: CloudTypeEnum, $containerDiskInGb: Int, $countryCode: String, $deployCost: Float, $dockerArgs: String,
    $env: [EnvironmentVariableInput], $gpuCount: Int, $gpuTypeId: String, $gpuTypeIdList: [String], $imageName: String,
    $minDisk: Int, $minMemoryInGb: Int, $minVcpuCount: Int, $name: String, $networkVolumeId: String, $port: Port, $ports: String,
    $startJupyter: Boolean, $startSsh: Boolean, $stopAfter: DateTime, $supportPublicIp: Boolean, $templateId: String,
    $terminateAfter: DateTime, $volumeInGb: Int, $volumeKey: String, $volumeMountPath: String, $dataCenterId: String,
    $savingsPlan: SavingsPlanInput, $cudaVersion: String, $allowedCudaVersions: [String]
  ) {
    podFindAndDeployOnDemand(input: {
      cloudType: $cloudType, containerDiskInGb: $containerDiskInGb, countryCode: $countryCode, deployCost: $deployCost,
      dockerArgs: $dockerArgs, env: $env, gpuCount: $gpuCount, gpuTypeId: $gpuTypeId, gpuTypeIdList: $gpuTypeIdList,
      imageName: $imageName, minDisk: $minDisk, minMemoryInGb: $minMemoryInGb, minVcpuCount: $minVcpuCount, name: $name,
      networkVolumeId: $networkVolumeId, port: $port, ports: $ports, startJupyter: $startJupyter, startSsh: $startSsh,
      stopAfter: $stopAfter, supportPublicIp: $supportPublicIp, templateId: $templateId, terminateAfter: $terminateAfter,
      volumeInGb: $volumeInGb, volumeKey: $volumeKey, volumeMountPath: $volumeMountPath, dataCenterId: $dataCenterId,
      savingsPlan: $savingsPlan, cudaVersion: $cudaVersion, allowedCudaVersions: $allowedCudaVersions
    }) { id imageName env machineId machine { podHostId } }
  }`;
  const variables = {
    ...{ cloudType: "ALL", gpuCount: 1, gpuTypeId: "NVIDIA A40", imageName: "host:/app", name: "pulumi" },
    ...{ containerDiskInGb: 10, volumeInGb: 20, volumeMountPath: "/workspace", ports: "80/http" },
    env: [{ key: "A", value: "b" }],
  };
  const url = `/graphql?api_key=${world.key}`;
  const { status, json } = await world.call("POST", url, { key: null, body: { query, variables } });
  expect(status).toBe(200);
  expect(json.errors).toBeUndefined();
  const { id } = json.data.podFindAndDeployOnDemand;
  const edit = `mutation edit($podId: String!, $imageName: String!, $containerDiskInGb: Int!) {
    podEditJob(input: {podId: $podId, imageName: $imageName, containerDiskInGb: $containerDiskInGb}) { id imageName env }
  }`;
  const { podEditJob } = await told(world, edit, { podId: id, imageName: "host:/other", containerDiskInGb: 12 });
  expect(podEditJob).toEqual({ id, imageName: "host:/other", env: ["A=b"] });
});

test("Pulumi makes a template and an endpoint, and deletes both", async () => {
  await using world = await setupPods();
  const saveTemplate = `mutation save(
    $name: String!, $imageName: String!, $containerDiskInGb: Int!, $volumeInGb: Int!, $dockerArgs: String!,
    $env: [EnvironmentVariableInput!]!, $isServerless: Boolean
  ) {
    saveTemplate(input: {
      name: $name, imageName: $imageName, containerDiskInGb: $containerDiskInGb, volumeInGb: $volumeInGb, dockerArgs: $dockerArgs,
      env: $env, isServerless: $isServerless
    }) { id name imageName env { key value } }
  }`;
  const variables = { name: "t", imageName: "busybox", containerDiskInGb: 5, volumeInGb: 0, dockerArgs: "", env: [] };
  const { saveTemplate: template } = await told(world, saveTemplate, { ...variables, isServerless: true });
  const saveEndpoint = `mutation save(
    $name: String!, $templateId: String!, $gpuIds: String!, $idleTimeout: Int, $workersMin: Int, $workersMax: Int,
    $scalerType: String, $scalerValue: Int, $locations: String, $networkVolumeId: String
  ) {
    saveEndpoint(input: {
      name: $name, templateId: $templateId, gpuIds: $gpuIds, idleTimeout: $idleTimeout, workersMin: $workersMin,
      workersMax: $workersMax, scalerType: $scalerType, scalerValue: $scalerValue, locations: $locations,
      networkVolumeId: $networkVolumeId
    }) { id name gpuIds templateId }
  }`;
  const endpoint = { name: "e", templateId: template.id, gpuIds: "AMPERE_24", workersMax: 1 };
  const { id } = (await told(world, saveEndpoint, endpoint)).saveEndpoint;
  const removeEndpoint = "mutation remove($id: String!) { deleteEndpoint(id: $id) }";
  expect(await told(world, removeEndpoint, { id })).toEqual({ deleteEndpoint: null });
  const removeTemplate = "mutation remove($templateName: String!) { deleteTemplate(templateName: $templateName) }";
  expect(await told(world, removeTemplate, { templateName: "t" })).toEqual({ deleteTemplate: null });
});
