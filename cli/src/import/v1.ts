/** Records of REST v1 as the bodies of REST v2 that would create them. */
import { type Fields, given, isFields, type Kind } from "./definition.ts";

/** A GPU type of the target's catalog. Pools are made from types, because REST v2 asks for pools. */
export interface GpuType {
  id: string;
  pool: string | null;
}

/** What else of the source and the target a record is read with. */
export interface Around {
  templates: ReadonlyMap<string, Fields>;
  gpus: readonly GpuType[];
}

/** Returns only fields that a creation takes. They are not checked yet. REST v1 has no secrets. */
export const bodiesFromV1: Record<Exclude<Kind, "secrets">, (record: Fields, around: Around) => Fields> = {
  registries: ({ name }) => ({ name }),
  volumes: ({ name, size, dataCenterId }) => given({ name, size, dataCenter: dataCenterId }),
  templates: templateBody,
  endpoints: endpointBody,
  pods: podBody,
};

function containerOf(record: Fields): Fields {
  const { dockerEntrypoint, dockerStartCmd, containerDiskInGb, env, ports, containerRegistryAuthId } = record;
  return given({
    image: record.imageName ?? record.image,
    entrypoint: dockerEntrypoint ?? [],
    cmd: dockerStartCmd ?? [],
    // 0 is how a CPU Pod says that it has no disk of its own choice.
    disk: containerDiskInGb || undefined,
    ...{ env: env ?? {}, ports: listOf(ports), registry: containerRegistryAuthId || null },
  });
}

/** A list, or one text with commas between. */
function listOf(value: unknown): unknown {
  if (typeof value !== "string") return value ?? [];
  return value.split(",").flatMap((part) => part.trim() || []);
}

function mountsOf({ volumeInGb, volumeMountPath, networkVolume, networkVolumeId }: Fields): Fields {
  const path = volumeMountPath || "/workspace";
  const volumeId = networkVolumeId || (isFields(networkVolume) ? networkVolume.id : undefined);
  if (volumeId) return { network: [{ volumeId, path }] };
  return volumeInGb ? { persistent: { size: volumeInGb, path } } : {};
}

function templateBody(record: Fields): Fields {
  const { name, isServerless, isPublic, category } = record;
  // REST v1 says a size for workers too, which have no such folder.
  const mounts = isServerless ? {} : mountsOf(record);
  return given({ name, ...containerOf(record), mounts, serverless: isServerless, public: isPublic, category });
}

/** An endpoint of REST v1 follows its template. Here it gets the container that the template says now. */
function endpointBody(record: Fields, around: Around): Fields {
  const { name, templateId, template, workersMin, workersMax, idleTimeout, executionTimeoutMs, flashboot } = record;
  const container = isFields(template) ? template : around.templates.get(String(templateId));
  if (!container) throw new Error("its template cannot be read at the source");
  const isByCount = record.scalerType === "REQUEST_COUNT";
  const scaling = isByCount
    ? { type: "REQUEST_COUNT", requestCount: record.scalerValue }
    : { type: "QUEUE_DELAY", queueDelay: record.scalerValue };
  return given({
    ...{ name, type: "QUEUE", ...containerOf(container), ...endpointCompute(record, around) },
    workers: given({ min: workersMin, max: workersMax, idleTimeout: isByCount ? undefined : idleTimeout }),
    ...{ scaling, dataCenterIds: listOf(record.dataCenterIds), networkVolumes: volumesOf(record) },
    timeout: executionTimeoutMs || undefined,
    flashboot: flashboot === undefined ? undefined : flashboot ? "FLASHBOOT" : "OFF",
  });
}

function volumesOf({ networkVolumeIds, networkVolumeId }: Fields): unknown {
  if (!Array.isArray(networkVolumeIds) || networkVolumeIds.length === 0)
    return networkVolumeId ? [networkVolumeId] : [];
  return networkVolumeIds.map((one) => (isFields(one) ? one.networkVolumeId : one));
}

function endpointCompute(record: Fields, { gpus }: Around): Fields {
  const { computeType, gpuCount, allowedCudaVersions, minCudaVersion, instanceIds } = record;
  if (computeType === "CPU") return { cpu: listIn(instanceIds).map(flavorIn) };
  const types = poolsFor(listIn(record.gpuTypeIds), gpus);
  const cuda = { allowedCudaVersions: allowedCudaVersions ?? [], minCudaVersion: minCudaVersion || undefined };
  return { gpu: given({ ...types, count: gpuCount || 1, ...cuda }) };
}

/** The record may hold anything, so that a list that is none is read as empty, and the check of the body says what is missing. */
const listIn = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

/** `cpu3c-8-16` is a flavor, its vCPUs and its GB. */
function flavorIn(text: string): Fields {
  const [id, vcpuCount] = text.split("-");
  return { id, vcpuCount: Number(vcpuCount) };
}

/** The pools that hold these types, less the types of those pools that are not wanted. No types means any. */
function poolsFor(types: readonly string[], catalog: readonly GpuType[]): Fields {
  const wanted = types.length > 0 ? types : catalog.flatMap(({ id, pool }) => (pool === null ? [] : id));
  const found = wanted.map((id) => catalog.find((gpu) => gpu.id === id));
  const unknown = wanted.filter((_, at) => !found[at]?.pool);
  if (unknown.length > 0) throw new Error(`GPU type '${unknown[0]}' is in no pool of the catalog here`);
  const pools = [...new Set(found.map((gpu) => gpu!.pool!))];
  const others = catalog.filter(({ id, pool }) => pool !== null && pools.includes(pool) && !wanted.includes(id));
  return given({ pools, excludedTypes: others.length > 0 ? others.map(({ id }) => id).sort() : undefined });
}

function podBody(record: Fields): Fields {
  const { name, gpu, gpuCount, cpuFlavorId, vcpuCount, machine, locked } = record;
  const type = isFields(gpu) ? gpu.id : isFields(machine) ? machine.gpuTypeId : undefined;
  const count = (isFields(gpu) ? gpu.count : undefined) ?? gpuCount;
  const compute = cpuFlavorId ? { cpu: { id: cpuFlavorId, vcpuCount } } : { gpu: given({ id: type, count }) };
  const isCommunity = isFields(machine) && machine.secureCloud === false;
  const rest = { cloud: isCommunity ? "COMMUNITY" : "SECURE", mounts: mountsOf(record), locked };
  return given({ name, ...containerOf(record), ...compute, ...rest });
}
