/** What differs between two releases of an endpoint, in the names that public clients know. */
import type { KeptEndpoint } from "../endpoints/model.ts";
import type { Change } from "./model.ts";

/** Variables may name secrets; values of secrets are nowhere in an endpoint. */
const fields: Record<string, (endpoint: KeptEndpoint) => unknown> = {
  name: ({ name }) => name,
  "template.imageName": ({ image }) => image,
  "template.dockerArgs": ({ args }) => args,
  "template.containerDiskInGb": ({ disk }) => disk,
  "template.env": ({ env }) => env,
  "template.ports": ({ ports }) => ports,
  "template.containerRegistryAuthId": ({ registry }) => registry,
  gpuTypeIds: ({ gpu }) => gpu?.types,
  gpuCount: ({ gpu }) => gpu?.count,
  allowedCudaVersions: ({ gpu }) => gpu?.allowedCudaVersions,
  minCudaVersion: ({ gpu }) => gpu?.minCudaVersion,
  instanceIds: ({ cpu }) => cpu?.map(({ id, vcpuCount, memory }) => `${id}-${vcpuCount}-${memory}`),
  locations: ({ dataCenterIds }) => dataCenterIds,
  networkVolumeIds: ({ networkVolumes }) => networkVolumes,
  flashBootType: ({ flashboot }) => flashboot,
  executionTimeoutMs: ({ timeout }) => timeout,
  "workers.min": ({ workers }) => workers.min,
  "workers.max": ({ workers }) => workers.max,
  "workers.idleTimeout": ({ workers }) => workers.idleTimeout,
  scalerType: ({ scaling }) => scaling.type,
  scalerValue: ({ scaling }) => (scaling.type === "QUEUE_DELAY" ? scaling.queueDelay : scaling.requestCount),
};

export function releaseDiff(before: KeptEndpoint, after: KeptEndpoint): Change[] {
  return Object.entries(fields)
    .map(([field, of]) => ({ field, old: of(before) ?? null, new: of(after) ?? null }))
    .filter((change) => JSON.stringify(change.old) !== JSON.stringify(change.new));
}
