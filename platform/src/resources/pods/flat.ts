/** The flat dialect of Pods: the fields that are not just a field of the model under another name. */
import { type Flat, type FlatField, flatDialect, plainField } from "../../kernel/flat.ts";
import { name, nullable, oneOf, t } from "../../kernel/schema.ts";
import { flavorOf, instanceIds } from "../container/instance-ids.ts";
import { cudaVersion, MOST_ITEMS } from "../endpoints/model.ts";
import type { PodTerms } from "./fields.ts";
import { clouds, type KeptPod, LEAST_PERSISTENT_GB, Pod } from "./model.ts";

type Field = FlatField<KeptPod, PodTerms>;

const names = t.Array(name(), { maxItems: MOST_ITEMS });
const moment = nullable(t.Integer({ minimum: 0, description: "Milliseconds since 1970." }));
const flag = t.Boolean();
const perGpu = nullable(t.Integer({ minimum: 1, maximum: 1_000_000 }));
const HOW_IT_IS = "how it is, which nobody gives";

/** Several flat fields about storage make up one object. */
const storage = (says: string[], schema: Field["schema"], read: Field["read"]): Field => ({
  says,
  schema,
  read,
  write: (_, all, before) => ({
    mounts: mountsFrom(all, before),
    ...(!before && all.volumeMountPath === undefined && { isDefaultPath: true }),
  }),
});

export const podDialect = flatDialect<KeptPod, PodTerms>(Pod, {
  unsaid: {
    entrypoint: "said by dockerArgs, which is kept beside it in the same words",
    cmd: "said by dockerArgs, which is kept beside it in the same words",
    idleTimeout: "an addition of REST v2, which keeps what it is where nobody says it",
    ...Object.fromEntries(
      [
        "status",
        "reason",
        "lastStatusChange",
        "startedAt",
        "instance",
        "last",
        "machines",
        "crashes",
        "publicPorts",
        "portsAt",
        "address",
        "cluster",
        "createdBy",
        "span",
        "spans",
        "meteredUntil",
        "claimsName",
        "mountPath",
        "withoutGpu",
      ].map((field) => [field, HOW_IT_IS]),
    ),
  },
  odd: {
    cloudType: plainField("cloud", oneOf(clouds)),
    templateId: {
      ...plainField("template", name()),
      read: ({ template }) => template ?? undefined,
      write: (templateId) => ({ templateId: templateId as string }),
    },
    containerRegistryAuthId: plainField("registry", nullable(name())),
    gpuTypeIds: plainField("gpu.types", t.Array(name(), { minItems: 1, maxItems: MOST_ITEMS })),
    gpuCount: plainField("gpu.count", t.Integer({ minimum: 1, maximum: 1024 })),
    allowedCudaVersions: plainField("gpu.allowedCudaVersions", t.Array(cudaVersion, { maxItems: MOST_ITEMS })),
    minCudaVersion: plainField("gpu.minCudaVersion", nullable(cudaVersion)),
    minRAMPerGPU: plainField("gpu.minRamPerGpu", perGpu),
    minVCPUPerGPU: plainField("gpu.minVcpuPerGpu", perGpu),
    instanceIds: {
      says: ["cpu.id", "cpu.vcpuCount", "cpu.memory"],
      schema: instanceIds,
      read: ({ cpu }) => cpu?.map(({ id, vcpuCount, memory }) => `${id}-${vcpuCount}-${memory}`),
      write: (ids) => ({ cpu: (ids as string[]).map(flavorOf) }),
    },
    dataCenterIds: plainField("dataCenterIds", names),
    countryCodes: plainField(
      "countryCodes",
      t.Array(t.String({ pattern: "^[A-Z]{2}$", maxLength: 2 }), { maxItems: MOST_ITEMS }),
    ),
    volumeInGb: storage(
      ["mounts.persistent.size"],
      t.Integer({ minimum: 1, maximum: 1_000_000 }),
      ({ mounts }) => mounts.persistent?.size,
    ),
    networkVolumeId: storage(["mounts.network.volumeId"], name(), ({ mounts }) => mounts.network?.[0]?.volumeId),
    volumeMountPath: {
      says: ["mounts.persistent.path", "mounts.network.path"],
      schema: t.String({ minLength: 2, maxLength: 512 }),
      read: ({ mounts, mountPath }) => mounts.persistent?.path ?? mounts.network?.[0]?.path ?? mountPath,
      // Without a mount the path is kept anyway, for clients that read it back.
      write: (path, all, before) => {
        const mounts = mountsFrom(all, before);
        const isBare = !mounts.persistent && !mounts.network;
        return { mounts, ...(isBare && { mountPath: path as string }) };
      },
    },
    startSsh: plainField("startSsh", flag),
    startJupyter: plainField("startJupyter", flag),
    stopAfter: plainField("stopAfter", moment),
    terminateAfter: plainField("terminateAfter", moment),
    interruptible: plainField("interruptible", flag),
    bidPerGpu: plainField("bidPerGpu", nullable(t.Number({ minimum: 0 }))),
  },
});

const WORKSPACE = "/workspace";

interface SaidOfStorage {
  volumeInGb?: number;
  networkVolumeId?: string;
  volumeMountPath?: string;
}

/** If only one of these fields is sent, the others stay unchanged. */
function mountsFrom(all: Flat, before: KeptPod | undefined): KeptPod["mounts"] {
  const { volumeInGb, networkVolumeId, volumeMountPath } = all as SaidOfStorage;
  const { persistent, network } = before?.mounts ?? {};
  const volumeId = networkVolumeId ?? network?.[0]?.volumeId;
  if (volumeId !== undefined)
    return { network: [{ volumeId, path: volumeMountPath ?? network?.[0]?.path ?? WORKSPACE }] };
  const size = volumeInGb ?? persistent?.size;
  if (size === undefined) return {};
  return {
    persistent: { size: Math.max(LEAST_PERSISTENT_GB, size), path: volumeMountPath ?? persistent?.path ?? WORKSPACE },
  };
}
