/** Serverless endpoints: workers that run a handler and are reached through an endpoint's own URL. */
import type { Kept } from "../../kernel/document.ts";
import { type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, dateTime, nullable, oneOf, t } from "../../kernel/schema.ts";
import { containerFields, shownContainerFields } from "../container/model.ts";

const cudaVersion = t.String({ pattern: "^\\d+\\.\\d+$" });
/** A URL in which `{job_id}` stands for itself. */
const uri = t.String();

const cudaFields = {
  allowedCudaVersions: t.Optional(
    t.Array(cudaVersion, { uniqueItems: true, description: "Exact CUDA versions; an empty list means any." }),
  ),
};

/** `{pools, count}` as public clients send it, or `{id, count}` for exactly one type. */
const gpuRequest = closed({
  id: t.Optional(t.String({ minLength: 1, description: "Exactly this GPU type." })),
  pools: t.Optional(
    t.Array(t.String({ minLength: 1 }), { minItems: 1, description: "GPU pools, in order of preference." }),
  ),
  count: t.Optional(t.Integer({ minimum: 1, description: "GPUs per worker." })),
  excludedTypes: t.Optional(
    t.Array(t.String({ pattern: "^\\s*[^-\\s]" }), {
      uniqueItems: true,
      description: "Types of the pools that are not wanted.",
    }),
  ),
  ...cudaFields,
  minCudaVersion: t.Optional(
    t.String({ pattern: "^(\\d+\\.\\d+)?$", description: "Least CUDA version; empty clears it." }),
  ),
});

const shownGpu = t.Object({
  pools: t.Array(t.String(), { minItems: 1 }),
  count: t.Integer(),
  excludedTypes: t.Optional(t.Array(t.String())),
  allowedCudaVersions: t.Array(t.String()),
  minCudaVersion: nullable(t.String()),
});

const cpuRequest = t.Array(
  closed({
    id: t.String({ minLength: 1 }),
    vcpuCount: t.Integer({ minimum: 2, description: "A power of two within the flavor." }),
  }),
  { minItems: 1, uniqueItems: true, description: "CPU flavors, in order of preference." },
);

const shownCpu = t.Array(t.Object({ id: t.String(), vcpuCount: t.Integer(), memory: t.Integer() }), { minItems: 1 });

const workerFields = {
  min: t.Optional(
    t.Integer({ minimum: 0, description: "Workers kept running; 0 by default.", "x-flat": "workersMin" }),
  ),
  max: t.Optional(t.Integer({ minimum: 0, description: "Most workers ever; 3 by default.", "x-flat": "workersMax" })),
  idleTimeout: t.Optional(
    t.Integer({ minimum: 1, maximum: 3600, description: "Seconds an idle worker is kept; 10 by default." }),
  ),
};

const scaling = t.Union([
  closed({
    type: t.Literal("QUEUE_DELAY"),
    queueDelay: t.Number({ minimum: 0.5, description: "Seconds a job may wait before a worker is added." }),
  }),
  closed({
    type: t.Literal("REQUEST_COUNT"),
    requestCount: t.Integer({ minimum: 1, description: "Requests per worker." }),
  }),
]);

const queueUrls = t.Object({
  run: uri,
  runSync: uri,
  status: uri,
  stream: uri,
  cancel: uri,
  retry: uri,
  purgeQueue: uri,
  health: uri,
});
const balancerUrls = t.Object({ base: uri, health: uri });

export const endpointTypes = ["QUEUE", "LOAD_BALANCER"] as const;
export const flashBootModes = ["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"] as const;

export const SHORTEST_TIMEOUT_MS = 5000;
export const LONGEST_TIMEOUT_MS = 604_800_000;

export const Endpoint = resource("Endpoint", {
  assigned: {
    id: t.String({ description: "Unique endpoint identifier." }),
    requestUrls: t.Union([queueUrls, balancerUrls], { description: "Where the endpoint is reached." }),
    createdAt: dateTime("Creation time."),
  },
  fixed: {
    type: t.Optional(oneOf(endpointTypes, { description: "QUEUE by default." })),
  },
  given: {
    name: t.Optional(t.String({ minLength: 1, description: "Name for people; from the template when absent." })),
    ...containerFields,
    gpu: t.Optional(gpuRequest),
    cpu: t.Optional(cpuRequest),
    workers: t.Optional(closed(workerFields)),
    scaling: t.Optional(scaling),
    dataCenterIds: t.Optional(
      t.Array(t.String({ minLength: 1 }), { description: "Data centers; an empty list means any." }),
    ),
    networkVolumes: t.Optional(
      t.Array(t.String({ minLength: 1 }), { uniqueItems: true, description: "Network volume ids." }),
    ),
    timeout: t.Optional(
      t.Integer({
        minimum: SHORTEST_TIMEOUT_MS,
        maximum: LONGEST_TIMEOUT_MS,
        description: "Milliseconds a request may run; 300000 by default.",
        "x-flat": "executionTimeoutMs",
      }),
    ),
    flashboot: t.Optional(
      oneOf(flashBootModes, {
        description:
          "What becomes of an idle worker: `OFF` ends it (default), `FLASHBOOT` freezes it until a job needs it, and " +
          "`PRIORITY_FLASHBOOT` too, and lets it go last when memory is short.",
      }),
    ),
  },
  emptyUpdate: true,
  hidden: {
    templateId: t.Optional(
      t.String({ minLength: 1, description: "Serverless template whose fields are copied once." }),
    ),
  },
  shown: {
    name: t.String(),
    ...shownContainerFields,
    gpu: t.Optional(shownGpu),
    cpu: t.Optional(shownCpu),
    workers: t.Object({ min: t.Integer(), max: t.Integer(), idleTimeout: t.Optional(t.Integer()) }),
    scaling,
    dataCenterIds: t.Array(t.String()),
    networkVolumes: t.Array(t.String()),
    timeout: t.Integer(),
    flashboot: oneOf(flashBootModes),
  },
});
export type Endpoint = RecordOf<typeof Endpoint>;
export type EndpointType = (typeof endpointTypes)[number];

/** GPU types in order of preference; pools and exclusions are a view of this list, so that every dialect's order survives. */
export type KeptGpu = { types: string[]; count: number; allowedCudaVersions: string[]; minCudaVersion: string | null };
export type KeptCpu = { id: string; vcpuCount: number; memory: number }[];
export type Scaling = { type: "QUEUE_DELAY"; queueDelay: number } | { type: "REQUEST_COUNT"; requestCount: number };

export type KeptEndpoint = {
  name: string;
  type: EndpointType;
  image: string;
  args: string;
  entrypoint: string[];
  cmd: string[];
  disk: number;
  env: Record<string, string>;
  ports: string[];
  registry: string | null;
  gpu?: KeptGpu;
  cpu?: KeptCpu;
  workers: { min: number; max: number; idleTimeout: number };
  scaling: Scaling;
  dataCenterIds: string[];
  networkVolumes: string[];
  timeout: number;
  flashboot: (typeof flashBootModes)[number];
  /** Grows with every change that reaches the workers' containers. */
  release: number;
};

export const endpoints: Kept<KeptEndpoint> = { kind: "endpoint", v: 1 };

/** An endpoint that is gone, under its own id, until everything it left elsewhere is gone too. */
export type Removal = Record<never, never>;

export const removals: Kept<Removal> = { kind: "removed-endpoint", v: 1 };
