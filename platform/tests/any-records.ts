/** Makes random records of every kind, for tests that must hold for all: each optional field may be present, on every surface. */
import type { SeededRandom } from "../src/kernel/random.ts";
import { type Answered, anyContainer, anyEnv, called, commandText, pairsOf } from "./faces.ts";
import { dataOf } from "./graphql.ts";
import type { World } from "./world.ts";

/** Makes a record, and returns its id. */
export type Make = (world: World, random: SeededRandom) => Promise<string>;

const names = (() => {
  let made = 0;
  return () => `record ${made++} ä`;
})();

/** Picks each of the fields, or not. */
const some = (random: SeededRandom, fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.5)));

const LINES = [
  "python run.py",
  "  sh -c 'echo \"a b\"' ",
  '{"cmd": ["a"]}',
  '{"entrypoint":["x"]}',
  "",
  "a  b",
  "\ttabs\t",
];

/** A command in one of the forms that clients use: absent, one line, two lists, or only one list. */
function anyCommand(random: SeededRandom, [line, first, rest]: readonly [string, string, string]) {
  const { command } = anyContainer(random);
  return random.pick<object>([
    ...[{}, { [line]: random.pick(LINES) }, { [line]: commandText(command) }],
    ...[{ [first]: command.entrypoint, [rest]: command.cmd }, { [rest]: command.cmd }, { [first]: command.entrypoint }],
  ]);
}

const V2_COMMAND = ["args", "entrypoint", "cmd"] as const;
const FLAT_COMMAND = ["dockerArgs", "dockerEntrypoint", "dockerStartCmd"] as const;

const aRegistry: Make = async (world) =>
  (await called(world, "POST", "/v2/registries", { name: names(), username: "u", password: "p" })).id;

const aVolume = async (world: World): Promise<string> =>
  (await called(world, "POST", "/v2/network-volumes", { name: names(), size: 10, dataCenter: "EU-RO-1" })).id;

const aTemplate = async (world: World, random: SeededRandom, serverless: boolean): Promise<string> => {
  const { env, ports, disk } = anyContainer(random);
  const said = { ...some(random, { env, ports, disk }), ...anyCommand(random, V2_COMMAND) };
  return (await called(world, "POST", "/v2/templates", { name: names(), image: "host:/app", serverless, ...said })).id;
};

async function v2Container(world: World, random: SeededRandom) {
  const { disk, ports } = anyContainer(random);
  const env = anyEnv(random);
  const registry = random.chance(0.3) ? await aRegistry(world, random) : null;
  return { ...some(random, { disk, env, ports, registry }), ...anyCommand(random, V2_COMMAND) };
}

async function flatContainer(world: World, random: SeededRandom) {
  const { disk, ports, env } = anyContainer(random);
  const auth = random.chance(0.3) ? await aRegistry(world, random) : "";
  const fields = { containerDiskInGb: disk, ports, env, containerRegistryAuthId: auth };
  return { ...some(random, fields), ...anyCommand(random, FLAT_COMMAND) };
}

const graphContainer = async (world: World, random: SeededRandom) => {
  const { env, ports, ...said } = (await flatContainer(world, random)) as Answered;
  delete said.dockerEntrypoint;
  delete said.dockerStartCmd;
  return { ...said, ...(env && { env: pairsOf(env) }), ...(ports && { ports: ports.join() }) };
};

const CUDA = [{}, { allowedCudaVersions: ["12.8"] }, { minCudaVersion: "12.4" }, { allowedCudaVersions: [] }];

const v2Pod: Make = async (world, random) => {
  const isCpu = random.chance(0.4);
  const compute = isCpu
    ? { cpu: { id: "cpu3c", vcpuCount: 2 } }
    : {
        gpu: {
          id: "NVIDIA A40",
          ...some(random, { count: 2, minRamPerGpu: 8, minVcpuCountPerGpu: 2 }),
          ...random.pick(CUDA),
        },
      };
  const network = { network: [{ volumeId: await aVolume(world), path: "/runpod-volume/" }] };
  const mounts = random.pick<object>([
    {},
    network,
    ...(isCpu ? [] : [{ persistent: { size: 10, path: "/workspace/" } }]),
  ]);
  const body = {
    ...{ name: names(), image: "host:/app", ...compute, mounts, ...(await v2Container(world, random)) },
    ...some(random, { locked: true, idleTimeout: 600, startSsh: true, startJupyter: true, cloud: "SECURE" }),
    ...some(random, { dataCenterIds: ["EU-RO-1"], ...(!isCpu && { globalNetworking: true }) }),
    ...(random.chance(0.3) && { templateId: await aTemplate(world, random, false) }),
  };
  return (await called(world, "POST", "/v2/pods", body)).id;
};

const v1Pod: Make = async (world, random) => {
  const isCpu = random.chance(0.4);
  const compute = isCpu
    ? { computeType: "CPU", cpuFlavorIds: ["cpu3c", "cpu3g"], ...some(random, { vcpuCount: 4 }) }
    : { gpuTypeIds: ["NVIDIA A40"], ...some(random, { gpuCount: 2, minRAMPerGPU: 8 }), ...random.pick(CUDA) };
  const storage = [{}, { volumeInGb: 0 }, { networkVolumeId: await aVolume(world) }, { volumeInGb: isCpu ? 0 : 5 }];
  const body = {
    ...{ name: names(), imageName: "host:/app", ...compute, ...random.pick(storage) },
    ...(await flatContainer(world, random)),
    ...some(random, { volumeMountPath: "/data/", locked: true, startSsh: true, startJupyter: true }),
    ...some(random, { cloudType: "SECURE", dataCenterIds: ["EU-RO-1"], countryCodes: ["RO"] }),
    ...(random.chance(0.3) && { templateId: await aTemplate(world, random, false) }),
  };
  return (await called(world, "POST", "/v1/pods", body)).id;
};

const done = async (world: World, field: string, input: string, said: object): Promise<string> =>
  (
    await dataOf(world, `mutation ($input: ${input}) { done: ${field}(input: $input) { id } }`, {
      variables: { input: said },
    })
  ).done.id;

const graphPod: Make = async (world, random) => {
  const said = { name: names(), imageName: "host:/app", ...(await graphContainer(world, random)) };
  const timers = some(random, {
    stopAfter: "2100-01-01T00:00:00Z",
    terminateAfter: "2100-01-02T00:00:00Z",
    startSsh: true,
  });
  if (random.chance(0.4))
    return done(world, "deployCpuPod", "deployCpuPodInput", { ...said, ...timers, instanceId: "cpu3c-2-4" });
  const onGpus = { ...said, ...timers, gpuTypeId: "NVIDIA A40", gpuCount: 1, cloudType: "SECURE" };
  const stored = { ...onGpus, ...some(random, { volumeInGb: 20, volumeMountPath: "/workspace" }) };
  if (random.chance(0.5)) return done(world, "podFindAndDeployOnDemand", "PodFindAndDeployOnDemandInput", stored);
  return done(world, "podRentInterruptable", "PodRentInterruptableInput", { ...stored, bidPerGpu: 5 });
};

const SCALINGS = [
  { type: "QUEUE_DELAY", queueDelay: 0.5 },
  { type: "QUEUE_DELAY", queueDelay: 7 },
  { type: "REQUEST_COUNT", requestCount: 3 },
];
const FLASHBOOTS = ["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"];
const TYPES = [
  ["NVIDIA A40", "NVIDIA RTX A6000"],
  ["NVIDIA RTX A6000", "NVIDIA A40"],
  ["NVIDIA RTX A6000", "NVIDIA A30", "NVIDIA A40"],
  ["NVIDIA A40"],
];

const v2Endpoint: Make = async (world, random) => {
  const isBalanced = random.chance(0.3);
  const pools = { pools: random.pick([["AMPERE_48"], ["AMPERE_24", "AMPERE_48"], ["AMPERE_48", "AMPERE_24"]]) };
  const gpu = random.pick<object>([
    { id: "NVIDIA A40" },
    pools,
    { pools: ["AMPERE_48"], excludedTypes: ["NVIDIA A40"] },
  ]);
  const compute = random.chance(0.4)
    ? {
        cpu: [
          { id: "cpu3g", vcpuCount: 4 },
          { id: "cpu3c", vcpuCount: 2 },
        ],
      }
    : { gpu: { ...gpu, ...some(random, { count: 2 }), ...random.pick(CUDA) } };
  const scaling = isBalanced ? SCALINGS[2] : random.pick(SCALINGS);
  const idles = isBalanced || scaling!.type === "QUEUE_DELAY";
  const workers = some(random, {
    ...{ min: 1, max: 4, ...(idles && { idleTimeout: 44 }) },
    ...(!isBalanced && { warmup: { input: { b: 1, a: [2] } } }),
  });
  const where = random.pick<object>([
    ...[{}, { dataCenterIds: [] }, { dataCenterIds: ["EU-SE-2", "EU-SE-1", "EU-RO-1"] }],
    { networkVolumes: [await aVolume(world)] },
  ]);
  const body = {
    ...{
      name: names(),
      image: "host:/app",
      ...compute,
      scaling,
      workers,
      ...where,
      ...(await v2Container(world, random)),
    },
    ...some(random, { flashboot: random.pick(FLASHBOOTS), timeout: 7777 }),
    ...(isBalanced && { type: "LOAD_BALANCER" }),
    ...(random.chance(0.3) && { templateId: await aTemplate(world, random, true) }),
  };
  return (await called(world, "POST", "/v2/serverless", body)).id;
};

const scaled = (random: SeededRandom) =>
  some(random, {
    ...{ workersMin: 1, workersMax: 5, idleTimeout: 44, executionTimeoutMs: 7777 },
    ...{ scalerType: random.pick(["QUEUE_DELAY", "REQUEST_COUNT"]), scalerValue: 3 },
  });

const v1Endpoint: Make = async (world, random) => {
  const compute = random.chance(0.4)
    ? {
        computeType: "CPU",
        ...random.pick<object>([
          { cpuFlavorIds: ["cpu3g", "cpu3c"], vcpuCount: 4 },
          { instanceIds: ["cpu3c-2-4", "cpu3g-4-16"] },
        ]),
      }
    : { gpuTypeIds: random.pick(TYPES), ...some(random, { gpuCount: 2 }), ...random.pick(CUDA) };
  const where = random.pick<object>([
    {},
    { dataCenterIds: ["EU-SE-2", "EU-RO-1"] },
    { networkVolumeId: await aVolume(world) },
  ]);
  const body = {
    ...{ templateId: await aTemplate(world, random, true), ...compute, ...where, ...scaled(random) },
    ...some(random, { name: names(), flashboot: random.chance(0.5) }),
  };
  return (await called(world, "POST", "/v1/endpoints", body)).id;
};

const graphEndpoint: Make = async (world, random) => {
  const compute = random.chance(0.4)
    ? { computeType: "CPU", instanceIds: ["cpu3g-4-16", "cpu3c-2-4"] }
    : {
        gpuIds: random.pick(["AMPERE_48,-NVIDIA A40", "NVIDIA RTX A6000,AMPERE_24,NVIDIA A40"]),
        ...some(random, { gpuCount: 2, allowedCudaVersions: "12.8,12.4" }),
      };
  const own = { template: { name: names(), imageName: "host:/app", ...(await graphContainer(world, random)) } };
  const input = {
    ...{ name: names(), ...compute, ...scaled(random) },
    ...(random.chance(0.5) ? own : { templateId: await aTemplate(world, random, true) }),
    ...some(random, {
      flashBootType: random.pick(FLASHBOOTS),
      locations: random.pick(["SE", "EU-SE-2,EU-SE-1,EU-RO-1", "EU-RO-1"]),
    }),
    ...(random.chance(0.3) && { type: "LB", scalerType: "REQUEST_COUNT" }),
  };
  return done(world, "saveEndpoint", "EndpointInput", input);
};

/** Returns a template. If it is for endpoints, an endpoint that follows it is made too. */
async function followed(world: World, id: string, isServerless: boolean): Promise<string> {
  const said = { name: names(), templateId: id, computeType: "CPU", cpuFlavorIds: ["cpu3c"], workersMin: 1 };
  if (isServerless) await called(world, "POST", "/v1/endpoints", said);
  return id;
}

const v2Template: Make = async (world, random) => {
  const serverless = random.chance(0.5);
  const mounts = random.pick<object>([
    {},
    { mounts: { persistent: { size: 10, path: "/workspace/" } } },
    { mounts: {} },
  ]);
  const body = {
    ...{
      name: names(),
      image: "host:/app",
      serverless,
      ...(await v2Container(world, random)),
      ...(!serverless && mounts),
    },
    ...some(random, {
      public: true,
      category: "CPU",
      startSsh: false,
      startJupyter: false,
      allowedCudaVersions: ["12.8"],
    }),
  };
  return followed(world, (await called(world, "POST", "/v2/templates", body)).id, serverless);
};

const flatTemplate = (random: SeededRandom) => ({
  ...some(random, {
    isPublic: true,
    category: "CPU",
    startSsh: false,
    startJupyter: false,
    allowedCudaVersions: ["12.8"],
  }),
  ...some(random, { readme: "# read me", startScript: "echo", portsConfig: [{ port: "80", name: "web" }] }),
});

const v1Template: Make = async (world, random) => {
  const isServerless = random.chance(0.5);
  const storage = isServerless ? {} : some(random, { volumeInGb: random.pick([0, 30]), volumeMountPath: "/data/" });
  const said = { ...(await flatContainer(world, random)), ...flatTemplate(random), ...storage };
  const body = { name: names(), imageName: "host:/app", isServerless, ...said };
  return followed(world, (await called(world, "POST", "/v1/templates", body)).id, isServerless);
};

const graphTemplate: Make = async (world, random) => {
  const isServerless = random.chance(0.5);
  const storage = isServerless ? {} : some(random, { volumeInGb: random.pick([0, 30]), volumeMountPath: "/data" });
  const said = { ...(await graphContainer(world, random)), ...flatTemplate(random), ...storage };
  const input = { name: names(), imageName: "host:/app", isServerless, ...said };
  return followed(world, await done(world, "saveTemplate", "SaveTemplateInput", input), isServerless);
};

const v2Volume: Make = (world) => aVolume(world);
const v1Volume: Make = async (world) =>
  (await called(world, "POST", "/v1/networkvolumes", { name: names(), size: 12, dataCenterId: "EU-RO-1" })).id;
const graphVolume: Make = (world) =>
  done(world, "createNetworkVolume", "CreateNetworkVolumeInput", { name: names(), size: 13, dataCenterId: "EU-RO-1" });

const secretNames = (() => {
  let made = 0;
  return () => `secret_${made++}`;
})();

const v2Secret: Make = async (world, random) => {
  const said = { name: secretNames(), value: "v", ...some(random, { description: random.pick(["", "what it is"]) }) };
  return (await called(world, "POST", "/v2/account/secrets", said)).id;
};

const v2Cluster: Make = async (world, random) => {
  const compute = { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 };
  const said = {
    name: names(),
    type: "TRAINING",
    compute,
    image: "host:/app",
    ...some(random, { env: anyEnv(random) }),
  };
  return (await called(world, "POST", "/v2/clusters", said)).id;
};

export const makers = {
  Pod: { "REST v2": v2Pod, "REST v1": v1Pod, GraphQL: graphPod },
  endpoint: { "REST v2": v2Endpoint, "REST v1": v1Endpoint, GraphQL: graphEndpoint },
  template: { "REST v2": v2Template, "REST v1": v1Template, GraphQL: graphTemplate },
  "network volume": { "REST v2": v2Volume, "REST v1": v1Volume, GraphQL: graphVolume },
  secret: { "REST v2": v2Secret },
  cluster: { "REST v2": v2Cluster },
} satisfies Record<string, Record<string, Make>>;
