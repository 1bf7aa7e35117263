/** The documents that flash and runpod-mcp send for templates and endpoints: they send everything again with each change. */
import { expect, test } from "vitest";
import { told } from "../../../tests/graphql-calls.ts";
import { setupPods } from "../../../tests/pod-world.ts";

const SAVE_ENDPOINT = `
  mutation saveEndpoint($input: EndpointInput!) {
    saveEndpoint(input: $input) {
      aiKey gpuIds id idleTimeout locations name networkVolumeId networkVolumeIds { networkVolumeId dataCenterId } flashEnvironmentId
      scalerType scalerValue templateId type userId version workersMax workersMin workersStandby workersPFBTarget gpuCount
      allowedCudaVersions minCudaVersion executionTimeoutMs instanceIds activeBuildid idePodId flashBootType
    }
  }`;

const TEMPLATE_FIELDS = "id containerDiskInGb dockerArgs env { key value } imageName name readme";

const INPUT = {
  name: "live-fn",
  gpuIds: "ADA_24",
  gpuCount: 1,
  idleTimeout: 60,
  locations: "",
  networkVolumeId: null,
  networkVolumeIds: null,
  flashEnvironmentId: null,
  scalerType: "QUEUE_DELAY",
  scalerValue: 4,
  template: {
    advancedStart: false,
    config: null,
    containerDiskInGb: 64,
    containerRegistryAuthId: "",
    dockerArgs: "",
    env: [{ key: "LOG_LEVEL", value: "INFO" }],
    imageName: "registry.test/flash:1",
    name: "live-fn__template",
    ports: "",
    startScript: "",
  },
  type: "QB",
  workersMax: 3,
  workersMin: 0,
  workersPFBTarget: 0,
  allowedCudaVersions: "",
  minCudaVersion: "12.8",
  executionTimeoutMs: 0,
  instanceIds: null,
  flashBootType: "FLASHBOOT",
  activeBuildid: null,
  computeType: "GPU",
};

test("flash makes an endpoint with its template, changes both, finds it, and deletes it", async () => {
  await using world = await setupPods();
  const { saveEndpoint: made } = await told(world, SAVE_ENDPOINT, { input: INPUT });
  expect(made).toMatchObject({
    id: expect.any(String),
    gpuIds: "ADA_24",
    networkVolumeId: null,
    networkVolumeIds: [],
    type: "QB",
    version: 0,
    workersMax: 3,
    minCudaVersion: "12.8",
    instanceIds: [],
    activeBuildid: null,
    idePodId: null,
    flashEnvironmentId: null,
    flashBootType: "FLASHBOOT",
  });

  const read = `query getTemplate($id: String!) { podTemplate(id: $id) { ${TEMPLATE_FIELDS} } }`;
  const { podTemplate } = await told(world, read, { id: made.templateId });
  expect(podTemplate).toMatchObject({
    containerDiskInGb: 64,
    env: [{ key: "LOG_LEVEL", value: "INFO" }],
    imageName: "registry.test/flash:1",
  });
  const saveTemplate = `mutation saveTemplate($input: SaveTemplateInput) { saveTemplate(input: $input) { ${TEMPLATE_FIELDS} } }`;
  const changed = { ...podTemplate, imageName: "registry.test/flash:2", volumeInGb: 0 };
  expect((await told(world, saveTemplate, { input: changed })).saveTemplate.imageName).toBe("registry.test/flash:2");

  const { template: _, ...rest } = INPUT;
  const again = { ...rest, id: made.id, templateId: made.templateId, workersMax: 5 };
  const { saveEndpoint: after } = await told(world, SAVE_ENDPOINT, { input: again });
  expect(after).toEqual({ ...made, workersMax: 5, version: 1 });

  const exists = "query endpoint($id: String!) { myself { endpoint(id: $id) { id } } }";
  expect(await told(world, exists, { id: made.id })).toEqual({ myself: { endpoint: { id: made.id } } });
  const remove = "mutation deleteEndpoint($id: String!) { deleteEndpoint(id: $id) }";
  expect(await told(world, remove, { id: made.id })).toEqual({ deleteEndpoint: null });
  expect(await told(world, exists, { id: made.id })).toEqual({ myself: { endpoint: null } });
});

test("flash makes endpoints on CPUs and such that balance load", async () => {
  await using world = await setupPods();
  const { gpuIds: _, gpuCount: __, minCudaVersion: ___, ...rest } = INPUT;
  const cpu = { ...rest, name: "cpu-fn", instanceIds: ["cpu5c-2-4"], computeType: "CPU" };
  expect((await told(world, SAVE_ENDPOINT, { input: cpu })).saveEndpoint.instanceIds).toEqual(["cpu5c-2-4"]);
  const balanced = { ...INPUT, name: "lb-fn", type: "LB", scalerType: "REQUEST_COUNT" };
  expect((await told(world, SAVE_ENDPOINT, { input: balanced })).saveEndpoint).toMatchObject({
    type: "LB",
    scalerType: "REQUEST_COUNT",
  });
});

test("runpod-mcp reads all of an endpoint and sends it again with other GPUs", async () => {
  await using world = await setupPods();
  const { saveEndpoint: made } = await told(world, SAVE_ENDPOINT, { input: INPUT });
  const read = `query { myself { endpoints {
    id name gpuIds gpuCount templateId workersMin workersMax idleTimeout scalerType scalerValue locations networkVolumeId
    networkVolumeIds { networkVolumeId } executionTimeoutMs flashBootType type allowedCudaVersions minCudaVersion compliance
    modelReferences instanceIds
  } } }`;
  const [found] = (await told(world, read)).myself.endpoints;
  expect(found).toMatchObject({ id: made.id, compliance: [], modelReferences: [] });
  const input = { ...found, gpuIds: "AMPERE_48,-NVIDIA A40" };
  const { saveEndpoint } = await told(world, SAVE_ENDPOINT, { input });
  expect(saveEndpoint).toEqual({ ...made, gpuIds: "AMPERE_48,-NVIDIA A40", version: 1 });
});

test("runpod-mcp deploys what is in a hub, nulls for what it does not choose", async () => {
  await using world = await setupPods();
  const input = {
    ...{ name: "hub", hubReleaseId: "r1", type: "QB", gpuIds: "ADA_24", gpuCount: 1, workersMin: 0, workersMax: null },
    ...{ locations: null, networkVolumeIds: null, compliance: [] },
    template: {
      ...{ name: "hub template", imageName: "registry.test/hub:1", containerDiskInGb: 20, containerRegistryAuthId: "" },
      ...{ dockerArgs: "", startScript: "", ports: "", env: [] },
    },
  };
  const query =
    "mutation SaveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { id name workersMax templateId } }";
  const { saveEndpoint } = await told(world, query, { input });
  expect(saveEndpoint).toMatchObject({ name: "hub", workersMax: 3, templateId: expect.any(String) });
});
