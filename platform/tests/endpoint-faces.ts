/** Endpoints in the form of each surface: with a container of their own, or with a template that they follow. */
import { poolOfType, typesOfPool } from "../src/catalog/compute.ts";
import type { SeededRandom } from "../src/kernel/random.ts";
import {
  type Answered,
  anyContainer,
  type Container,
  called,
  containerWords,
  envIn,
  type Face,
  type Resource,
  renamed,
} from "./faces.ts";
import { dataOf } from "./graphql.ts";

interface Scaled {
  name: string;
  workersMin: number;
  workersMax: number;
  idleTimeout: number;
  delay: number;
  timeout: number;
  flashboot: "OFF" | "FLASHBOOT";
  dataCenterIds: string[];
}

type Compute = { types: string[]; count: number } | { flavors: string[] };

interface Endpoint extends Container, Scaled {
  compute: Compute;
}

const names = (() => {
  let made = 0;
  return () => `endpoint ${made++} ä`;
})();

const anyScaled = (random: SeededRandom): Scaled => ({
  name: names(),
  workersMin: random.below(3),
  workersMax: 3 + random.below(5),
  idleTimeout: 1 + random.below(100),
  delay: 1 + random.below(20),
  timeout: 5000 + random.below(100_000),
  flashboot: random.pick(["OFF", "FLASHBOOT"]),
  dataCenterIds: random.pick([["EU-RO-1"], ["EU-SE-1", "EU-SE-2"], ["US-TX-1", "EU-RO-1"]]),
});

/** Lists of types that every surface can express: in the order of their pools. */
const TYPES = [["NVIDIA A40", "NVIDIA RTX A6000"], ["NVIDIA RTX A6000"], ["NVIDIA A30", "NVIDIA GeForce RTX 4090"]];

const anyCompute = (random: SeededRandom): Compute =>
  random.chance(0.6)
    ? { types: random.pick(TYPES), count: 1 + random.below(4) }
    : { flavors: random.pick([["cpu3c-2-4"], ["cpu3g-4-16", "cpu5c-2-4"]]) };

const isGpu = (compute: Compute): compute is { types: string[]; count: number } => "types" in compute;
const containerIn = ({ image, command, disk, env, ports }: Partial<Endpoint>): Partial<Container> =>
  JSON.parse(JSON.stringify({ image, command, disk, env, ports }));
const isOfContainer = (change: object) => Object.keys(containerIn(change)).length > 0;

function poolsOf(types: string[]) {
  const pools = [...new Set(types.map((type) => poolOfType(type)!))];
  const excludedTypes = pools.flatMap((pool) => typesOfPool(pool)!).filter((type) => !types.includes(type));
  return { pools, excludedTypes };
}

const v2Compute = (compute?: Compute) => {
  if (!compute) return {};
  if (isGpu(compute)) return { gpu: { ...poolsOf(compute.types), count: compute.count } };
  const cpu = compute.flavors.map((flavor) => ({ id: flavor.split("-")[0], vcpuCount: Number(flavor.split("-")[1]) }));
  return { cpu };
};

const v2Said = ({ compute, delay, workersMin: min, workersMax: max, idleTimeout, ...others }: Partial<Endpoint>) => ({
  ...renamed(others, { name: "name", timeout: "timeout", flashboot: "flashboot", dataCenterIds: "dataCenterIds" }),
  ...containerWords.v2.said(others),
  ...v2Compute(compute),
  ...(delay !== undefined && { scaling: { type: "QUEUE_DELAY", queueDelay: delay } }),
  ...((min ?? max ?? idleTimeout) !== undefined && { workers: { min, max, idleTimeout } }),
});

function v2Shown({ gpu, cpu, workers, scaling, ...record }: Answered): Endpoint {
  const types = gpu?.pools.flatMap((pool: string) => typesOfPool(pool)).filter(isNot(gpu.excludedTypes));
  return {
    ...containerWords.v2.shown(record),
    ...{ name: record.name, timeout: record.timeout, flashboot: record.flashboot, dataCenterIds: record.dataCenterIds },
    ...{
      workersMin: workers.min,
      workersMax: workers.max,
      idleTimeout: workers.idleTimeout,
      delay: scaling.queueDelay,
    },
    compute: gpu
      ? { types, count: gpu.count }
      : { flavors: cpu.map((one: Answered) => `${one.id}-${one.vcpuCount}-${one.memory}`) },
  };
}

const isNot =
  (excluded: string[] = []) =>
  (type: string) =>
    !excluded.includes(type);

const FLAT = {
  ...{ name: "name", workersMin: "workersMin", workersMax: "workersMax", idleTimeout: "idleTimeout" },
  ...{ delay: "scalerValue", timeout: "executionTimeoutMs" },
};

const flatScaled = (flat: Answered): Omit<Scaled, "flashboot" | "dataCenterIds"> => ({
  ...{ name: flat.name, workersMin: flat.workersMin, workersMax: flat.workersMax, idleTimeout: flat.idleTimeout },
  ...{ delay: flat.scalerValue, timeout: flat.executionTimeoutMs },
});

const v1Compute = (compute?: Compute) => {
  if (!compute) return {};
  return isGpu(compute)
    ? { gpuTypeIds: compute.types, gpuCount: compute.count }
    : { computeType: "CPU", instanceIds: compute.flavors };
};

const v1Said = ({ compute, flashboot, dataCenterIds, ...others }: Partial<Endpoint>) => ({
  ...renamed(others, FLAT),
  ...v1Compute(compute),
  ...(flashboot && { flashboot: flashboot !== "OFF" }),
  ...(dataCenterIds && { dataCenterIds }),
});

const V1 = "/v1/endpoints";

const throughV1: Face<Endpoint> = {
  /** REST v1 has no endpoint without a template, so it follows one that is made for it. */
  async make(world, endpoint) {
    const template = { name: `for ${endpoint.name}`, isServerless: true, ...containerWords.v1.said(endpoint) };
    const { id: templateId } = await called(world, "POST", "/v1/templates", template);
    return (await called(world, "POST", V1, { templateId, ...v1Said(endpoint) })).id;
  },
  /** A change of the container goes to the template that the endpoint shows, whether it follows one or has its own. */
  async change(world, id, change) {
    if (!isOfContainer(change)) return void (await called(world, "PATCH", `${V1}/${id}`, v1Said(change)));
    const { templateId } = await called(world, "GET", `${V1}/${id}`);
    await called(world, "PATCH", `/v1/templates/${templateId}`, containerWords.v1.said(change));
  },
  async read(world, id) {
    const record = await called(world, "GET", `${V1}/${id}?includeTemplate=true`);
    const { flashboot, dataCenterIds, gpuTypeIds, gpuCount, instanceIds } = record;
    return {
      ...containerWords.v1.shown(record.template),
      ...flatScaled(record),
      ...{ flashboot: flashboot ? "FLASHBOOT" : "OFF", dataCenterIds },
      compute: gpuTypeIds ? { types: gpuTypeIds, count: gpuCount } : { flavors: instanceIds },
    };
  },
};

const gpuIdsOf = (types: string[]) => {
  const { pools, excludedTypes } = poolsOf(types);
  return [...pools, ...excludedTypes.map((type) => `-${type}`)].join();
};

const graphqlSaid = ({ compute, flashboot, dataCenterIds, ...others }: Partial<Endpoint>) => ({
  ...renamed(others, FLAT),
  ...(compute &&
    (isGpu(compute)
      ? { gpuIds: gpuIdsOf(compute.types), gpuCount: compute.count }
      : { computeType: "CPU", instanceIds: compute.flavors })),
  ...(flashboot && { flashBootType: flashboot }),
  ...(dataCenterIds && { locations: dataCenterIds.join() }),
});

const SAVE = "mutation ($input: EndpointInput) { done: saveEndpoint(input: $input) { id } }";
const EDIT = "mutation ($input: SaveTemplateInput) { done: saveTemplate(input: $input) { id } }";
const SELECTION = `id name templateId workersMin workersMax idleTimeout scalerValue executionTimeoutMs flashBootType locations gpuIds gpuCount
  instanceIds computeType template { ${containerWords.graphql.selection} env { key value } }`;

const throughGraphql: Face<Endpoint> = {
  async make(world, endpoint) {
    const template = { name: `of ${endpoint.name}`, ...containerWords.graphql.said(endpoint) };
    const input = { ...graphqlSaid(endpoint), template };
    return (await dataOf(world, SAVE, { variables: { input } })).done.id;
  },
  async change(world, id, change) {
    if (!isOfContainer(change))
      return void (await dataOf(world, SAVE, { variables: { input: { id, ...graphqlSaid(change) } } }));
    const { templateId } = (await dataOf(world, `{ myself { endpoint(id: "${id}") { templateId } } }`)).myself.endpoint;
    await dataOf(world, EDIT, { variables: { input: { id: templateId, ...containerWords.graphql.said(change) } } });
  },
  async read(world, id) {
    const row = (await dataOf(world, `{ myself { endpoint(id: "${id}") { ${SELECTION} } } }`)).myself.endpoint;
    return {
      ...{ ...containerWords.graphql.shown(row.template), env: envIn(row.template.env) },
      ...flatScaled(row),
      ...{ flashboot: row.flashBootType, dataCenterIds: placesIn(row.locations) },
      compute:
        row.computeType === "GPU" ? { types: typesIn(row.gpuIds), count: row.gpuCount } : { flavors: row.instanceIds },
    };
  },
};

const SWEDEN = ["EU-SE-1", "EU-SE-2"];
const placesIn = (text: string): string[] =>
  text === "" ? [] : text.split(",").flatMap((word) => (word === "SE" ? SWEDEN : word));

const typesIn = (text: string): string[] => {
  const words = text.split(",");
  const excluded = words.filter((word) => word.startsWith("-")).map((word) => word.slice(1));
  return words
    .filter((word) => !word.startsWith("-"))
    .flatMap((word) => typesOfPool(word)!)
    .filter(isNot(excluded));
};

const PORTS = ["80/http"];

export const endpoints: Resource<Endpoint> = {
  any: (random) => ({ ...anyContainer(random), ...anyScaled(random), compute: anyCompute(random) }),
  change(random, before) {
    const { image, command, disk, env, ports } = anyContainer(random);
    const scaled = anyScaled(random);
    const { name, workersMax, idleTimeout, delay, timeout, flashboot, dataCenterIds } = scaled;
    const compute = isGpu(before.compute) ? { types: random.pick(TYPES), count: 1 + random.below(4) } : before.compute;
    return random.pick<Partial<Endpoint>>([
      ...[{ image, disk }, { command }, { env }, { ports: ports.length > 0 ? ports : PORTS }, { image, env }],
      ...[
        { name },
        { workersMax, delay },
        { idleTimeout, timeout },
        { flashboot },
        { dataCenterIds },
        { compute },
        scaled,
      ],
    ]);
  },
  faces: {
    "REST v2": {
      make: async (world, endpoint) => (await called(world, "POST", "/v2/serverless", v2Said(endpoint))).id,
      change: async (world, id, change) => void (await called(world, "PATCH", `/v2/serverless/${id}`, v2Said(change))),
      read: async (world, id) => v2Shown(await called(world, "GET", `/v2/serverless/${id}`)),
    },
    "REST v1": throughV1,
    GraphQL: throughGraphql,
  },
};
