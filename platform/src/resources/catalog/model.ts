/** GPU types, CPU flavors and data centers, as callers read them. */
import { availabilities, compliances, manufacturers, regions, volumeTypes } from "../../catalog/words.ts";
import { oneOf, type Static, t } from "../../kernel/schema.ts";

const availability = oneOf(availabilities, {
  description:
    "What is free now on the machines of this installation: room for none, for one (`LOW`), for up to seven (`MEDIUM`) or for more of what was asked for.",
});

const virtual = t.Optional(
  t.Literal(true, {
    description: "The GPUs are made up, so that any request works where there are none; programs find no device.",
  }),
);

const named = { id: t.String(), name: t.String() };
const usd = (description: string) => t.Number({ description });

const GpuInDataCenter = t.Object({ ...named, availability, virtual });
const CpuInDataCenter = t.Object({ ...named, availability });

export const GpuType = t.Object(
  {
    id: t.String({ description: "Such as `NVIDIA GeForce RTX 4090`; in a path with its spaces as `%20`." }),
    name: t.String({ description: "Short name for people." }),
    pool: t.Union([t.String(), t.Null()], { description: "Pool of serverless GPUs that it stands in." }),
    manufacturer: oneOf(manufacturers),
    memory: t.Integer({ description: "Memory of one GPU in GB." }),
    secure: t.Boolean({ description: "Whether it is offered in the secure cloud." }),
    community: t.Boolean({ description: "Whether it is offered in the community cloud." }),
    price: t.Object({
      secure: usd("USD per hour and GPU in the secure cloud."),
      community: usd("USD per hour and GPU in the community cloud."),
      serverless: t.Optional(usd("USD per hour and GPU of a worker.")),
    }),
    maxCount: t.Object({ secure: t.Integer(), community: t.Integer() }, { description: "Most GPUs of one Pod." }),
    availability: t.Optional(availability),
    virtual,
    dataCenters: t.Optional(t.Array(GpuInDataCenter, { description: "Where machines have it, free or not." })),
    cudaVersions: t.Optional(
      t.Array(
        t.Object({
          version: t.String({ description: "The newest CUDA that a machine's driver knows." }),
          available: t.Boolean({ description: "Whether there is room on such a machine now." }),
        }),
      ),
    ),
  },
  { $id: "GpuType" },
);
export type GpuType = Static<typeof GpuType>;

export const CpuType = t.Object(
  {
    id: t.String({ description: "Flavor, such as `cpu5c`." }),
    name: t.String({ description: "Name for people." }),
    group: t.String({ description: "Generation that it belongs to." }),
    vcpu: t.Object({ min: t.Integer(), max: t.Integer() }, { description: "Least and most vCPU of one instance." }),
    ramGbPerVcpu: t.Number({ description: "GB of memory that come with each vCPU." }),
    price: t.Object({
      securePerVcpu: usd("USD per hour and vCPU of a Pod."),
      serverlessPerVcpu: usd("USD per hour and vCPU of a worker."),
    }),
    availability: t.Optional(availability),
    dataCenters: t.Optional(t.Array(CpuInDataCenter, { description: "Where machines have it, free or not." })),
  },
  { $id: "CpuType" },
);
export type CpuType = Static<typeof CpuType>;

export const DataCenter = t.Object(
  {
    id: t.String({ description: "Such as `US-KS-2`." }),
    name: t.String({ description: "Name for people." }),
    region: oneOf(regions),
    globalNetwork: t.Boolean({ description: "Whether Pods there can have global networking." }),
    networkVolumeTypes: t.Array(oneOf(volumeTypes), {
      description: "Types of network volumes, the primary one first.",
    }),
    compliance: t.Array(oneOf(compliances)),
    gpuAvailability: t.Optional(t.Array(GpuInDataCenter, { description: "GPU types that machines there have." })),
    cpuAvailability: t.Optional(t.Array(CpuInDataCenter, { description: "CPU flavors that machines there have." })),
    networkVolumePrices: t.Optional(
      t.Array(
        t.Object({
          type: oneOf(volumeTypes),
          perGbMonth: usd("USD per GB and month, up to 1000 GB."),
          beyondTbPerGbMonth: usd("USD per GB and month beyond that."),
        }),
        { description: "What network volumes cost there, by type; with `include` only." },
      ),
    ),
  },
  { $id: "DataCenter" },
);
export type DataCenter = Static<typeof DataCenter>;
