/** The documents that runpodctl sends for Pods, templates and endpoints: it uses variables, sends null for none, and decodes integers. */
import { expect, test } from "vitest";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

const CREATE = `
  mutation CreatePod($input: PodFindAndDeployOnDemandInput!) {
    podFindAndDeployOnDemand(input: $input) {
      id name imageName desiredStatus costPerHr containerDiskInGb volumeInGb volumeMountPath gpuCount memoryInGb vcpuCount ports
      lastStatusChange env
      machine { gpuDisplayName location }
    }
  }`;

/** Go decodes these into integers, so they must have no fraction, not even `.0`. */
const whole = (text: string, name: string) => expect(text).toMatch(new RegExp(`"${name}":\\d+[,}]`));

test("create pod of older ones, with no GPU: a CPU Pod, of the cheapest flavor that has what is asked for at least", async () => {
  await using world = await setupPods();
  const legacy = {
    ...{ cloudType: "SECURE", containerDiskInGb: 20, deployCost: 0, dataCenterId: "", dockerArgs: "", env: null },
    ...{ gpuCount: 0, gpuTypeId: "", imageName: "host:/app", minMemoryInGb: 20, minVcpuCount: 1, name: "mine" },
    ...{ networkVolumeId: "", ports: "", supportPublicIp: false, startSsh: true, templateId: "", volumeInGb: 1 },
    volumeMountPath: "/runpod",
  };
  const of = (pod: string) => world.pod(pod).then(({ cpu }) => cpu);
  const made = async (input: object) => (await told(world, CREATE, { input })).podFindAndDeployOnDemand;
  const { id, gpuCount, volumeInGb } = await made(legacy);
  expect({ gpuCount, volumeInGb }).toEqual({ gpuCount: 0, volumeInGb: 0 });
  expect(await of(id)).toEqual({ id: "cpu3m", vcpuCount: 4, memory: 32 });
  const small = await made({ ...legacy, name: "small", minMemoryInGb: 0 });
  expect(await of(small.id)).toEqual({ id: "cpu3c", vcpuCount: 2, memory: 4 });
  const { message } = await refused(world, CREATE, { input: { ...legacy, name: "huge", minVcpuCount: 4000 } });
  expect(message).toContain("No CPU flavor has 4000 vCPUs and 20 GB");
});

test("pod create: everything that a Pod can be given, in one variable", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const input = {
    cloudType: "SECURE",
    containerDiskInGb: 20,
    dataCenterId: "EU-RO-1",
    env: [{ key: "A", value: "b" }],
    gpuCount: 2,
    gpuTypeId: "NVIDIA A40",
    imageName: "host:/app",
    name: "mine",
    ports: "8888/http, 22/tcp",
    startSsh: true,
    supportPublicIp: false,
    templateId: "",
    volumeInGb: 20,
    volumeMountPath: "/workspace",
    networkVolumeId: "",
    minCudaVersion: "12.4",
    dockerArgs: "sleep 1",
    containerRegistryAuthId: "",
    countryCode: "",
    stopAfter: "2026-01-01T00:00:20Z",
    terminateAfter: "2026-01-01T00:00:40.000Z",
    compliance: [],
  };
  const body = { query: CREATE, variables: { input } };
  const { status, json, text } = await world.call("POST", "/graphql", { body });
  expect(status, text).toBe(200);
  expect(json.data.podFindAndDeployOnDemand).toMatchObject({
    name: "mine",
    desiredStatus: "RUNNING",
    containerDiskInGb: 20,
    volumeInGb: 20,
    volumeMountPath: "/workspace",
    gpuCount: 2,
    ports: "8888/http,22/tcp",
    env: ["A=b"],
    machine: { gpuDisplayName: "A40", location: expect.any(String) },
  });
  for (const name of ["containerDiskInGb", "volumeInGb", "gpuCount", "memoryInGb", "vcpuCount"]) whole(text, name);
  const { id } = json.data.podFindAndDeployOnDemand;
  await world.settle();
  await world.pass(25);
  expect((await world.pod(id)).status).toBe("EXITED");
  await world.pass(25);
  expect((await world.call("GET", `/v2/pods/${id}`)).status).toBe(404);
});

test("create pod, the older command: empty texts and a list that is null mean nothing was said", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const query = `
    mutation Mutation($input: PodFindAndDeployOnDemandInput) {
      podFindAndDeployOnDemand(input: $input) { id costPerHr desiredStatus lastStatusChange }
    }`;
  const input = {
    cloudType: "SECURE",
    containerDiskInGb: 20,
    deployCost: 0,
    dataCenterId: "",
    dockerArgs: "",
    env: null,
    gpuCount: 1,
    gpuTypeId: "NVIDIA A40",
    imageName: "host:/app",
    minMemoryInGb: 20,
    minVcpuCount: 1,
    name: "old",
    networkVolumeId: "",
    ports: "",
    supportPublicIp: false,
    templateId: "",
    volumeInGb: 10,
    volumeMountPath: "",
  };
  const { podFindAndDeployOnDemand: made } = await told(world, query, { input });
  expect(made).toMatchObject({ desiredStatus: "RUNNING", costPerHr: expect.any(Number) });

  const stop = `mutation stopPod($podId: String!) {
    podStop(input: {podId: $podId}) { id desiredStatus lastStatusChange }
  }`;
  expect((await told(world, stop, { podId: made.id })).podStop.desiredStatus).toBe("EXITED");
  const start = `mutation startPod($podId: String!) {
    podResume(input: {podId: $podId}) { id costPerHr desiredStatus lastStatusChange }
  }`;
  const { podResume } = await told(world, start, { podId: made.id });
  expect(podResume).toMatchObject({ id: made.id, desiredStatus: "RUNNING", costPerHr: made.costPerHr });
  const remove = `mutation terminatePod($podId: String!) { podTerminate(input: {podId: $podId}) }`;
  expect(await told(world, remove, { podId: made.id })).toEqual({ podTerminate: null });
  expect((await refused(world, remove, { podId: made.id })).message).toBe("pod not found to terminate");
});

test("a spot Pod is resumed by a bid", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const rent = `mutation { podRentInterruptable(input: {
    name: "spot", imageName: "host:/app", gpuTypeId: "NVIDIA A40", gpuCount: 1, bidPerGpu: 0.28, cloudType: SECURE
  }) { id podType } }`;
  const { podRentInterruptable: made } = await told(world, rent);
  expect(made.podType).toBe("INTERRUPTABLE");
  await told(world, `mutation { podStop(input: {podId: "${made.id}"}) { id } }`);
  const resume = `mutation startSpotPod($podId: String!, $bidPerGpu: Float!, $gpuCount: Int!) {
    podBidResume(input: {podId: $podId, bidPerGpu: $bidPerGpu, gpuCount: $gpuCount}) {
      id costPerHr desiredStatus lastStatusChange
    }
  }`;
  const { podBidResume } = await told(world, resume, { podId: made.id, bidPerGpu: 0.3, gpuCount: 1 });
  expect(podBidResume).toMatchObject({ id: made.id, desiredStatus: "RUNNING" });
});

test("pod list: names of ports under another name, and no variables at all", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  await told(world, CREATE, {
    input: { name: "p", imageName: "host:/app", gpuTypeId: "NVIDIA A40", ports: "22/tcp,80/http" },
  });
  await world.settle();
  const query = `query myPods { myself { pods {
    id containerDiskInGb costPerHr desiredStatus dockerArgs dockerId env gpuCount imageName lastStatusChange machineId memoryInGb
    name podType port ports uptimeSeconds vcpuCount volumeInGb volumeMountPath
    runtime { ports { ip isIpPublic privatePort publicPort PortType: type } }
    machine { gpuDisplayName location }
  } } }`;
  const { myself } = await told(world, query, null);
  expect(myself.pods).toHaveLength(1);
  expect(myself.pods[0].runtime.ports).toMatchObject([
    { isIpPublic: true, privatePort: 22, PortType: "tcp" },
    { isIpPublic: false, privatePort: 80, PortType: "http" },
  ]);
});

const ENDPOINT_FIELDS = `id name templateId gpuIds instanceIds computeType networkVolumeId
  networkVolumeIds { networkVolumeId dataCenterId } locations idleTimeout scalerType scalerValue workersMin workersMax gpuCount
  minCudaVersion executionTimeoutMs flashBootType modelReferences`;

const SAVE_ENDPOINT = `mutation SaveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { ${ENDPOINT_FIELDS} } }`;

test("serverless create with a template of its own, and again with its id", async () => {
  await using world = await setupPods();
  const input = {
    name: "vision",
    template: {
      name: "vision template",
      imageName: "registry.test/vision:1",
      containerDiskInGb: 15,
      dockerArgs: "",
      env: [{ key: "MODEL", value: "small" }],
    },
    gpuIds: "AMPERE_48,-NVIDIA RTX A6000",
    gpuCount: 1,
    workersMin: 0,
    workersMax: 2,
    locations: "EU-RO-1",
    networkVolumeId: "",
    idleTimeout: 7,
    scalerType: "QUEUE_DELAY",
    scalerValue: 3,
    executionTimeoutMs: 60_000,
    minCudaVersion: "12.4",
    flashBootType: "",
    modelReferences: [],
  };
  const { saveEndpoint: made } = await told(world, SAVE_ENDPOINT, { input });
  expect(made).toMatchObject({
    name: "vision",
    templateId: expect.any(String),
    gpuIds: "AMPERE_48,-NVIDIA RTX A6000",
    computeType: "GPU",
    instanceIds: [],
    networkVolumeId: null,
    networkVolumeIds: [],
    locations: "EU-RO-1",
    idleTimeout: 7,
    workersMax: 2,
    minCudaVersion: "12.4",
    executionTimeoutMs: 60_000,
    flashBootType: "OFF",
    modelReferences: [],
  });
  const { template: _, ...rest } = input;
  const again = { ...rest, id: made.id, templateId: made.templateId, workersMax: 5, flashBootType: "FLASHBOOT" };
  const { saveEndpoint: changed } = await told(world, SAVE_ENDPOINT, { input: again });
  expect(changed).toEqual({ ...made, workersMax: 5, flashBootType: "FLASHBOOT" });
});

test("serverless create on CPUs", async () => {
  await using world = await setupPods();
  const template = { name: "t", imageName: "busybox", env: [] };
  const input = { name: "text", template, instanceIds: ["cpu3g-2-8"], workersMin: 0, workersMax: 1 };
  const { saveEndpoint } = await told(world, SAVE_ENDPOINT, { input });
  expect(saveEndpoint).toMatchObject({ instanceIds: ["cpu3g-2-8"], computeType: "CPU", gpuIds: null });
});

test("templates are listed and searched without a variable of the list's type being there", async () => {
  await using world = await setupPods();
  const list = `query podTemplates($input: PodTemplateInput) { podTemplates(input: $input) {
    id name imageName isServerless isPublic isRunpod category containerDiskInGb volumeInGb volumeMountPath
  } }`;
  const { podTemplates: official } = await told(world, list, { input: { isRunpod: true } });
  expect(official.map(({ id }: { id: string }) => id)).toContain("ubuntu-shell");
  expect(official.every(({ isRunpod }: { isRunpod: boolean }) => isRunpod)).toBe(true);
  expect((await told(world, list, { input: { isRunpod: false } })).podTemplates).toEqual([]);
  const get = `query podTemplate($id: String!) { podTemplate(id: $id) {
    id name imageName isServerless isPublic isRunpod category containerDiskInGb volumeInGb volumeMountPath ports
    portsConfig { port name } env { key value } containerRegistryAuthId readme
  } }`;
  expect((await told(world, get, { id: "jupyter-notebook" })).podTemplate).toMatchObject({
    name: "Jupyter",
    isRunpod: true,
    ports: "8888/http",
    portsConfig: [{ port: "8888", name: "Jupyter" }],
    volumeInGb: 20,
  });
  expect((await told(world, get, { id: "aaaaaaaaaa" })).podTemplate).toBeNull();
});

test("port labels of a template: read all of it, send all of it", async () => {
  await using world = await setupPods();
  const save = `mutation SaveTemplate($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }`;
  const input = {
    name: "web",
    imageName: "nginx",
    containerDiskInGb: 5,
    volumeInGb: 0,
    dockerArgs: "",
    env: [],
    ports: "80/http",
  };
  const { saveTemplate } = await told(world, save, { input });
  const read = `query myTemplates { myself { podTemplates {
    id name imageName containerDiskInGb containerRegistryAuthId dockerArgs env { key value } ports portsConfig { port name } volumeInGb
    isPublic isServerless startJupyter startSsh advancedStart readme volumeMountPath startScript category
  } } }`;
  const [before] = (await told(world, read, null)).myself.podTemplates;
  const after = { ...before, portsConfig: [{ port: "80", name: "Page" }] };
  expect(await told(world, save, { input: after })).toEqual({ saveTemplate: { id: saveTemplate.id } });
  expect((await told(world, read, null)).myself.podTemplates).toEqual([after]);
});

test("serverless update template", async () => {
  await using world = await setupPods();
  const save = `mutation SaveTemplate($input: SaveTemplateInput) { saveTemplate(input: $input) { id } }`;
  const template = async (name: string) => {
    const input = { name, imageName: `registry.test/${name}`, isServerless: true, volumeInGb: 0, env: [] };
    return (await told(world, save, { input })).saveTemplate.id as string;
  };
  const [first, second] = [await template("first"), await template("second")];
  const input = { name: "e", templateId: first, gpuIds: "ADA_24" };
  const { id } = (await told(world, SAVE_ENDPOINT, { input })).saveEndpoint;
  const update = `mutation UpdateEndpointTemplate($input: UpdateEndpointTemplateInput) {
    updateEndpointTemplate(input: $input) { id templateId }
  }`;
  const { updateEndpointTemplate } = await told(world, update, { input: { endpointId: id, templateId: second } });
  expect(updateEndpointTemplate).toEqual({ id, templateId: second });
  expect((await world.call("GET", `/v2/serverless/${id}`)).json.image).toBe("registry.test/second");
});
