/** The flat dialect of endpoints: each of its fields written once, with what it says of an endpoint. */
import type { EndpointTerms } from "./fields.ts";
import { type EndpointType, endpointDefaults, type KeptEndpoint, type Scaling } from "./model.ts";

/** As REST v1, GraphQL and the history of releases speak. Surfaces put it into their own forms, such as a list as one text. */
export interface FlatEndpoint {
  name: string;
  type: EndpointType;
  gpuTypeIds: string[];
  gpuCount: number;
  allowedCudaVersions: string[];
  minCudaVersion: string | null;
  /** `<flavor>-<vCPUs>-<GB>`. */
  instanceIds: string[];
  dataCenterIds: string[];
  networkVolumeIds: string[];
  workersMin: number;
  workersMax: number;
  idleTimeout: number;
  scalerType: Scaling["type"];
  scalerValue: number;
  executionTimeoutMs: number;
  flashBootType: KeptEndpoint["flashboot"];
  "template.imageName": string;
  "template.dockerArgs": string;
  "template.containerDiskInGb": number;
  "template.env": Record<string, string>;
  "template.ports": string[];
  "template.containerRegistryAuthId": string | null;
}

interface FlatField<T> {
  /** The fields of an endpoint that it is made of. */
  says: readonly string[];
  /** Undefined where the endpoint has none, such as GPUs of a CPU endpoint. */
  read(endpoint: KeptEndpoint): T | undefined;
  write(value: T, all: Partial<FlatEndpoint>, before: KeptEndpoint | undefined): EndpointTerms;
  /** Its name in the history of releases, where that is another. */
  released?: string;
}

type FlatFields = { [Name in keyof FlatEndpoint]: FlatField<FlatEndpoint[Name]> };

/** What the dialect cannot say. */
export const unsaid: Record<string, string> = {
  entrypoint: "said by template.dockerArgs, which is kept beside it in the same words",
  cmd: "said by template.dockerArgs, which is kept beside it in the same words",
  "workers.warmup": "an addition of REST v2, which keeps what it is where nobody says it",
  release: "the version of the record, which nobody gives",
};

export const flatFields: FlatFields = {
  name: { says: ["name"], read: ({ name }) => name, write: (name) => ({ name }) },
  "template.imageName": { says: ["image"], read: ({ image }) => image, write: (image) => ({ image }) },
  "template.dockerArgs": { says: ["args"], read: ({ args }) => args, write: (args) => ({ args }) },
  "template.containerDiskInGb": { says: ["disk"], read: ({ disk }) => disk, write: (disk) => ({ disk }) },
  "template.env": { says: ["env"], read: ({ env }) => env, write: (env) => ({ env }) },
  "template.ports": { says: ["ports"], read: ({ ports }) => ports, write: (ports) => ({ ports }) },
  "template.containerRegistryAuthId": {
    says: ["registry"],
    read: ({ registry }) => registry,
    write: (registry) => ({ registry }),
  },
  gpuTypeIds: { says: ["gpu.types"], read: ({ gpu }) => gpu?.types, write: (types) => ({ gpu: { types } }) },
  gpuCount: { says: ["gpu.count"], read: ({ gpu }) => gpu?.count, write: (count) => ({ gpu: { count } }) },
  allowedCudaVersions: {
    says: ["gpu.allowedCudaVersions"],
    read: ({ gpu }) => gpu?.allowedCudaVersions,
    write: (allowedCudaVersions) => ({ gpu: { allowedCudaVersions } }),
  },
  minCudaVersion: {
    says: ["gpu.minCudaVersion"],
    read: ({ gpu }) => gpu?.minCudaVersion,
    write: (version) => ({ gpu: { minCudaVersion: version ?? "" } }),
  },
  instanceIds: {
    says: ["cpu.id", "cpu.vcpuCount", "cpu.memory"],
    read: ({ cpu }) => cpu?.map(({ id, vcpuCount, memory }) => `${id}-${vcpuCount}-${memory}`),
    write: (ids) => ({ cpu: ids.map(flavorOf) }),
  },
  dataCenterIds: {
    says: ["dataCenterIds"],
    read: ({ dataCenterIds }) => dataCenterIds,
    write: (dataCenterIds) => ({ dataCenterIds }),
    released: "locations",
  },
  networkVolumeIds: {
    says: ["networkVolumes"],
    read: ({ networkVolumes }) => networkVolumes,
    write: (networkVolumes) => ({ networkVolumes }),
  },
  flashBootType: { says: ["flashboot"], read: ({ flashboot }) => flashboot, write: (flashboot) => ({ flashboot }) },
  executionTimeoutMs: { says: ["timeout"], read: ({ timeout }) => timeout, write: (timeout) => ({ timeout }) },
  workersMin: {
    says: ["workers.min"],
    read: ({ workers }) => workers.min,
    write: (min) => ({ workers: { min } }),
    released: "workers.min",
  },
  workersMax: {
    says: ["workers.max"],
    read: ({ workers }) => workers.max,
    write: (max) => ({ workers: { max } }),
    released: "workers.max",
  },
  idleTimeout: {
    says: ["workers.idleTimeout"],
    read: ({ workers }) => workers.idleTimeout,
    write: (idleTimeout) => ({ workers: { idleTimeout } }),
    released: "workers.idleTimeout",
  },
  scalerType: { says: ["scaling.type"], read: ({ scaling }) => scaling.type, write: writeScaling },
  scalerValue: {
    says: ["scaling.queueDelay", "scaling.requestCount"],
    read: ({ scaling }) => scalerValueOf(scaling),
    write: writeScaling,
  },
  type: { says: ["type"], read: ({ type }) => type, write: (type) => ({ type }) },
};

const scalerValueOf = (scaling: Scaling) =>
  scaling.type === "QUEUE_DELAY" ? scaling.queueDelay : scaling.requestCount;

/** One is said without the other: the other stays, or is the default. */
function writeScaling(_: unknown, all: Partial<FlatEndpoint>, before: KeptEndpoint | undefined): EndpointTerms {
  const known: Scaling = before?.scaling ?? endpointDefaults.scaling[all.type ?? endpointDefaults.type];
  const value = all.scalerValue ?? scalerValueOf(known);
  const isDelay = (all.scalerType ?? known.type) === "QUEUE_DELAY";
  return {
    scaling: isDelay ? { type: "QUEUE_DELAY", queueDelay: value } : { type: "REQUEST_COUNT", requestCount: value },
  };
}

function flavorOf(instance: string): { id: string; vcpuCount: number } {
  const [id = "", vcpus] = instance.split("-");
  return { id, vcpuCount: Number(vcpus) };
}

/** An endpoint in the flat dialect; what it does not have is absent. */
export function flatOf(endpoint: KeptEndpoint): Partial<FlatEndpoint> {
  const all = Object.entries(flatFields).map(([name, { read }]) => [name, read(endpoint)] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}

/** What somebody says in the flat dialect, as terms; of what stands in the same object nothing is lost. */
export function termsOf(flat: Partial<FlatEndpoint>, before?: KeptEndpoint): EndpointTerms {
  const terms: EndpointTerms = {};
  for (const [name, value] of Object.entries(flat)) {
    const { write } = flatFields[name as keyof FlatEndpoint] as FlatField<unknown>;
    const { gpu, workers, ...plain } = write(value, flat, before);
    Object.assign(terms, plain);
    if (gpu) terms.gpu = { ...terms.gpu, ...gpu };
    if (workers) terms.workers = { ...terms.workers, ...workers };
  }
  return terms;
}
