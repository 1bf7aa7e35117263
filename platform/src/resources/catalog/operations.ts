/** Operations on the catalog: lookups, the same for every account. */
import { clouds, compliances, regions, volumeTypes } from "../../catalog/words.ts";
import type { Operations } from "../../kernel/operation.ts";
import { oneOf, type TObject, t } from "../../kernel/schema.ts";
import { CpuType, DataCenter, GpuType } from "./model.ts";

const MOST_LISTED = 300;
const listOf = <const V extends readonly string[]>(values: V, description: string) =>
  t.Optional(t.Array(oneOf(values), { maxItems: MOST_LISTED, description }));
const textsLike = (pattern: string, description: string) =>
  t.Optional(t.Array(t.String({ pattern, maxLength: 16 }), { maxItems: MOST_LISTED, description }));

const include = t.Optional(
  oneOf(["AVAILABILITY"], { description: "Adds what is free now; needs `product` beside it." }),
);

const gpuQuery = t.Object({
  include,
  product: listOf(["POD", "CLUSTER", "SERVERLESS"], "What it is wanted for: required with `include`, refused without."),
  count: t.Optional(
    t.Integer({ minimum: 1, maximum: 1000, description: "GPUs of one instance; 1 by default. With `include` only." }),
  ),
  cloud: t.Optional(
    oneOf(clouds, {
      description:
        "With `include` only, `SECURE` by default: what Pods may have there. The machines of this installation are in both.",
    }),
  ),
  countryCodes: textsLike(
    "^[A-Z]{2}$",
    "Data centers in one of these countries only, and in a list the types that are there. With `include` only.",
  ),
  cudaVersions: textsLike(
    "^\\d+\\.\\d+$",
    "Machines that run one of these only. With `include` only, and not with `minCudaVersion`.",
  ),
  minCudaVersion: t.Optional(
    t.String({
      pattern: "^\\d+(\\.\\d+)?$",
      maxLength: 16,
      description: "Machines with this CUDA or a later one only. With `include` only, and not with `cudaVersions`.",
    }),
  ),
});

/** The list goes up to the size of the largest machines. */
const VCPU_COUNTS = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

const cpuQuery = t.Object({
  include,
  product: listOf(["POD", "SERVERLESS"], "What it is wanted for: required with `include`, refused without."),
  vcpuCount: t.Optional(
    t.Unsafe<number>({
      type: "integer",
      minimum: 2,
      maximum: 1024,
      enum: VCPU_COUNTS,
      description: "vCPU of one instance; the least of the flavor by default. With `include` only.",
    }),
  ),
});

const dataCenterInclude = listOf(
  ["GPU_AVAILABILITY", "CPU_AVAILABILITY", "VOLUME_PRICES"],
  "Adds what is free there now, and what network volumes cost.",
);

const dataCenterQuery = t.Object({
  include: dataCenterInclude,
  regions: listOf(regions, "In one of these."),
  networkVolumeTypes: listOf(volumeTypes, "Which offer all of these."),
  compliance: listOf(compliances, "Which comply with all of these."),
  globalNetwork: t.Optional(t.Boolean({ description: "With global networking, or without." })),
});

const lookup = <Q extends TObject>(path: string, query: Q) =>
  ({ method: "GET", path, query, tag: "Catalog", status: 200, scope: "catalog:read", narrowed: "own" }) as const;

export const catalogOperations = {
  listGpuTypes: {
    ...lookup("/v2/catalog/gpus", gpuQuery),
    summary: "List GPU types",
    out: t.Object({ gpus: t.Array(GpuType) }),
    refuses: ["rule-broken"],
  },
  getGpuType: {
    ...lookup("/v2/catalog/gpus/{id}", gpuQuery),
    summary: "Get a GPU type",
    out: GpuType,
    refuses: ["rule-broken"],
  },
  listCpuTypes: {
    ...lookup("/v2/catalog/cpus", cpuQuery),
    summary: "List CPU flavors",
    out: t.Object({ cpus: t.Array(CpuType) }),
    refuses: ["rule-broken"],
  },
  getCpuType: {
    ...lookup("/v2/catalog/cpus/{id}", cpuQuery),
    summary: "Get a CPU flavor",
    out: CpuType,
    refuses: ["rule-broken"],
  },
  listDataCenters: {
    ...lookup("/v2/catalog/datacenters", dataCenterQuery),
    summary: "List data centers",
    out: t.Object({ dataCenters: t.Array(DataCenter) }),
  },
  getDataCenter: {
    ...lookup("/v2/catalog/datacenters/{id}", t.Object({ include: dataCenterInclude })),
    summary: "Get a data center",
    out: DataCenter,
  },
} satisfies Operations;
