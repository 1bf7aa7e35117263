/** Serverless endpoints: workers that run a handler and are reached through an endpoint's own URL. */
import { bootsOf } from "../../kernel/boot.ts";
import { type Claiming, claimedName } from "../../kernel/claim.ts";
import type { Kept } from "../../kernel/document.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, dateTime, name, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";
import { containerFields, shownContainerFields } from "../container/model.ts";
import { namesIn, REFERENCE } from "../models/model.ts";

/** The defaults that the service uses at creation. */
export const endpointDefaults = {
  type: "QUEUE",
  gpuCount: 1,
  workers: { min: 0, max: 3, idleTimeout: 10 },
  scaling: {
    QUEUE: { type: "QUEUE_DELAY", queueDelay: 4 },
    LOAD_BALANCER: { type: "REQUEST_COUNT", requestCount: 4 },
  },
  timeout: 300_000,
  flashboot: "OFF",
} as const;

/** Lists are short, because the items of some are compared with each other to find duplicates. */
export const MOST_ITEMS = 100;
const MOST_MODELS_NAMED = 20;
const MOST_WORKERS = 10_000;
const LONGEST_DELAY_S = 604_800;
const MOST_REQUESTS = 1_000_000;

export const cudaVersion = t.String({ maxLength: 16, pattern: "^\\d+\\.\\d+$" });
const uri = t.String({ format: "uri" });
/** A URL in which `{job_id}` stands for the id of a job. */
const uriOfJob = t.String({ format: "uri-template" });

const cudaFields = {
  allowedCudaVersions: t.Optional(
    t.Array(cudaVersion, {
      default: [],
      maxItems: MOST_ITEMS,
      uniqueItems: true,
      description: "Exact CUDA versions; an empty list means any.",
    }),
  ),
};

/** Either `{pools, count}` as public clients send it, or `{id, count}` for exactly one type. */
const gpuRequest = closed({
  id: t.Optional(name({ description: "Exactly this GPU type." })),
  pools: t.Optional(
    t.Array(name(), { minItems: 1, maxItems: MOST_ITEMS, description: "GPU pools, in order of preference." }),
  ),
  count: t.Optional(
    t.Integer({ minimum: 1, maximum: 1024, default: endpointDefaults.gpuCount, description: "GPUs per worker." }),
  ),
  excludedTypes: t.Optional(
    t.Array(t.String({ maxLength: 191, pattern: "^\\s*[^-\\s]" }), {
      default: [],
      maxItems: MOST_ITEMS,
      uniqueItems: true,
      description: "Types of the pools that are not wanted.",
    }),
  ),
  ...cudaFields,
  minCudaVersion: t.Optional({
    ...nullable(t.String({ maxLength: 16, pattern: "^(\\d+\\.\\d+)?$" })),
    default: "",
    description: "Least CUDA version; the empty text, or null as it is shown, clears it.",
  }),
});

const shownGpu = t.Object({
  pools: t.Array(t.String(), { minItems: 1 }),
  count: t.Integer({ minimum: 1, maximum: 1024 }),
  excludedTypes: t.Optional(t.Array(t.String())),
  allowedCudaVersions: t.Array(t.String({ maxLength: 16 }), { maxItems: MOST_ITEMS }),
  minCudaVersion: nullable(t.String({ maxLength: 16 })),
});

const cpuRequest = t.Array(
  closed({
    id: name(),
    vcpuCount: t.Integer({ minimum: 2, maximum: 1024, description: "A power of two within the flavor." }),
  }),
  { minItems: 1, maxItems: MOST_ITEMS, uniqueItems: true, description: "CPU flavors, in order of preference." },
);

const shownCpu = t.Array(
  t.Object({
    id: t.String(),
    vcpuCount: t.Integer({ minimum: 2, maximum: 1024 }),
    memory: t.Integer({ minimum: 1, description: "GB." }),
  }),
  { minItems: 1, maxItems: MOST_ITEMS },
);

const SHORTEST_TIMEOUT_MS = 5000;
export const LONGEST_TIMEOUT_MS = 604_800_000;

const warmup = closed({
  input: t.Record(t.String({ maxLength: 65_536 }), t.Unknown(), {
    maxProperties: 10_000,
    description: "What the handler gets as `input`; at most 64 KiB of JSON.",
  }),
  timeout: t.Optional(
    t.Integer({
      minimum: 1,
      maximum: LONGEST_TIMEOUT_MS,
      description: "Milliseconds it may run; the endpoint's `timeout` by default.",
    }),
  ),
});

const workerFields = {
  min: t.Optional(
    t.Integer({
      minimum: 0,
      maximum: MOST_WORKERS,
      default: endpointDefaults.workers.min,
      description: "Workers kept running.",
      "x-flat": "workersMin",
    }),
  ),
  max: t.Optional(
    t.Integer({
      minimum: 0,
      maximum: MOST_WORKERS,
      default: endpointDefaults.workers.max,
      description: "Most workers ever.",
      "x-flat": "workersMax",
    }),
  ),
  idleTimeout: t.Optional(
    t.Integer({
      minimum: 1,
      maximum: 3600,
      default: endpointDefaults.workers.idleTimeout,
      description: "Seconds an idle worker is kept.",
    }),
  ),
  warmup: t.Optional({
    ...nullable(warmup),
    description:
      "A job that each new worker of a QUEUE endpoint does before it counts as ready and gets others; null for none.",
  }),
};

const scaling = t.Union([
  closed({
    type: t.Literal("QUEUE_DELAY"),
    queueDelay: t.Number({
      minimum: 0.5,
      maximum: LONGEST_DELAY_S,
      description: "Seconds a job may wait before a worker is added.",
    }),
  }),
  closed({
    type: t.Literal("REQUEST_COUNT"),
    requestCount: t.Integer({ minimum: 1, maximum: MOST_REQUESTS, description: "Requests per worker." }),
  }),
]);

const queueUrls = t.Object({
  run: uri,
  runSync: uri,
  status: uriOfJob,
  stream: uriOfJob,
  cancel: uriOfJob,
  retry: uriOfJob,
  purgeQueue: uri,
  health: uri,
});
const balancerUrls = t.Object({ base: uri, health: uri });

export const endpointTypes = ["QUEUE", "LOAD_BALANCER"] as const;
export const flashBootModes = ["OFF", "FLASHBOOT", "PRIORITY_FLASHBOOT"] as const;

export const Endpoint = resource("Endpoint", {
  assigned: {
    id: t.String({ description: "Unique endpoint identifier." }),
    requestUrls: t.Union([queueUrls, balancerUrls], { description: "Where the endpoint is reached." }),
    createdAt: dateTime("Creation time."),
  },
  fixed: {
    type: t.Optional(oneOf(endpointTypes, { default: endpointDefaults.type, "x-boot": false })),
  },
  given: {
    name: t.Optional(name({ description: "Name for people; from the template when absent.", "x-boot": false })),
    ...containerFields,
    gpu: t.Optional({ ...gpuRequest, "x-boot": true }),
    cpu: t.Optional({ ...cpuRequest, "x-boot": true }),
    // An update keeps the members that it does not name.
    workers: t.Optional(closed(workerFields, { "x-who": "quota", "x-boot": false, "x-merges": true })),
    scaling: t.Optional({
      ...scaling,
      description: "By default a delay of 4 seconds for `QUEUE`, and 4 requests per worker for `LOAD_BALANCER`.",
      "x-boot": false,
    }),
    dataCenterIds: t.Optional(
      t.Array(name(), {
        default: [],
        maxItems: MOST_ITEMS,
        description: "Data centers; an empty list means any.",
        "x-boot": true,
      }),
    ),
    networkVolumes: t.Optional(
      t.Array(name(), {
        default: [],
        maxItems: MOST_ITEMS,
        uniqueItems: true,
        description: "Network volume ids.",
        "x-flat": "networkVolumeIds",
        "x-boot": true,
      }),
    ),
    modelReferences: t.Optional(
      t.Array(t.String({ maxLength: 320, pattern: REFERENCE }), {
        default: [],
        maxItems: MOST_MODELS_NAMED,
        uniqueItems: true,
        description:
          "Models of the installation that workers see read-only, such as `org/name`, `org/name:revision` or " +
          "`https://huggingface.co/org/name:main`, below `/runpod-volume/huggingface-cache/hub`.",
        "x-boot": true,
      }),
    ),
    timeout: t.Optional(
      t.Integer({
        minimum: SHORTEST_TIMEOUT_MS,
        maximum: LONGEST_TIMEOUT_MS,
        default: endpointDefaults.timeout,
        description: "Milliseconds a request may run.",
        "x-flat": "executionTimeoutMs",
        "x-boot": false,
      }),
    ),
    flashboot: t.Optional(
      oneOf(flashBootModes, {
        default: endpointDefaults.flashboot,
        description:
          "What becomes of an idle worker: `OFF` ends it, `FLASHBOOT` freezes it until a job needs it, and " +
          "`PRIORITY_FLASHBOOT` too, and lets it go last when memory is short.",
        "x-flat": "flashBootType",
        "x-boot": false,
      }),
    ),
  },
  emptyUpdate: true,
  hidden: {
    templateId: t.Optional(name({ description: "Serverless template whose fields are copied once.", "x-boot": false })),
  },
  shown: {
    name: t.String({ maxLength: 191 }),
    ...shownContainerFields,
    gpu: t.Optional(shownGpu),
    cpu: t.Optional(shownCpu),
    workers: t.Object({
      min: t.Integer({ minimum: 0, maximum: MOST_WORKERS }),
      max: t.Integer({ minimum: 0, maximum: MOST_WORKERS }),
      idleTimeout: t.Optional(t.Integer({ minimum: 1, maximum: 3600 })),
      warmup: t.Optional(warmup),
    }),
    scaling,
    dataCenterIds: t.Array(t.String(), { maxItems: MOST_ITEMS }),
    networkVolumes: t.Array(t.String(), { maxItems: MOST_ITEMS }),
    modelReferences: t.Array(t.String(), { default: [], maxItems: MOST_MODELS_NAMED }),
    timeout: t.Integer({ minimum: SHORTEST_TIMEOUT_MS, maximum: LONGEST_TIMEOUT_MS }),
    flashboot: oneOf(flashBootModes),
  },
});
export type Endpoint = RecordOf<typeof Endpoint>;
export type EndpointType = (typeof endpointTypes)[number];

/** GPU types in order of preference. Pools and exclusions are only a view of this list, so the order of every dialect survives. */
export type KeptGpu = { types: string[]; count: number; allowedCudaVersions: string[]; minCudaVersion: string | null };
export type KeptCpu = Static<typeof shownCpu>;
export type Scaling = Static<typeof scaling>;

const givenWorkers = t.Object(workerFields);
/** Everything except the warm-up job has a default. */
type KeptWorkers = Required<Omit<Static<typeof givenWorkers>, "warmup">> & Pick<Static<typeof givenWorkers>, "warmup">;

/** A network volume and its machine, which is null for shared storage. */
export type PlacedVolume = { id: string; dataCenter: string; machine: string | null };

/** The fields of an endpoint that callers set, as they are kept. */
export type EndpointConfig = KeptOf<
  typeof Endpoint,
  /** Records of older releases name no models. */
  { type: EndpointType; gpu?: KeptGpu; workers: KeptWorkers; modelReferences?: string[] }
>;

/** For each field, whether a change of it needs a boot. Such a change makes a new release, which reaches the workers' containers. */
export const endpointBoots: Record<keyof EndpointConfig, boolean> = bootsOf(Endpoint);

export type KeptEndpoint = (EndpointConfig & Claiming) & {
  /** The places of its network volumes, if it has any. A volume never moves. */
  volumePlaces?: PlacedVolume[];
  /** The template that it was made from, or was last given. */
  template?: string | null;
  /** Whether it follows that template, so that its container changes with it. Otherwise the container is its own. */
  follows?: boolean;
  /** The name of its own container as a template. Absent if that is the endpoint's name. */
  templateName?: string;
  /** Increases with every change that reaches the workers' containers. */
  release: number;
  /** The API key that created it, where it is known. */
  createdBy?: string | null;
  /** The name of the public endpoint that it is, if it is shared. */
  sharedAs?: string;
  /** Since when each of its workers serves one account only, if its public endpoint wants that. */
  apartSince?: number;
  /** The release of the hub that it was made from, if it was. */
  hubReleaseId?: string;
};

export const endpoints: Kept<KeptEndpoint> = {
  kind: "endpoint",
  v: 1,
  unique: (doc) => ({ name: claimedName(doc) }),
  listed: ({ name, registry, template, networkVolumes, modelReferences }) => ({
    name,
    registry: registry ?? undefined,
    template: template ?? undefined,
    volume: networkVolumes,
    model: namesIn(modelReferences),
  }),
  keysVersion: 4,
};
