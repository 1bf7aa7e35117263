/** Records of REST v2 as the bodies that would create them. Records of the target are read in the same way, to be compared. */
import { type Fields, given, isFields, type Kind } from "./definition.ts";

/** Returns only fields that a creation takes. They are not checked yet. */
export const bodiesFromV2: Record<Kind, (record: Fields) => Fields> = {
  secrets: ({ name, description }) => given({ name, description: description || undefined }),
  registries: ({ name }) => ({ name }),
  volumes: ({ name, size, dataCenter, type }) => given({ name, size, dataCenter, type }),
  templates: templateBody,
  endpoints: endpointBody,
  pods: podBody,
};

function containerOf({ image, args, entrypoint, cmd, disk, env, ports, registry }: Fields): Fields {
  // The two lists say the command exactly. An older server has only the text.
  const command = Array.isArray(entrypoint) && Array.isArray(cmd) ? { entrypoint, cmd } : { args };
  const credential = isFields(registry) ? registry.id : registry;
  return given({ image, ...command, disk, env, ports, registry: credential ?? null });
}

function templateBody(record: Fields): Fields {
  const { name, mounts, serverless, category, startSsh, startJupyter, allowedCudaVersions } = record;
  const rest = { serverless, public: record.public, category, startSsh, startJupyter, allowedCudaVersions };
  return given({ name, ...containerOf(record), mounts, ...rest });
}

function endpointBody(record: Fields): Fields {
  const { name, type, gpu, cpu, workers, scaling, dataCenterIds, networkVolumes, timeout, flashboot } = record;
  const compute = isFields(gpu) ? { gpu: endpointGpu(gpu) } : { cpu: flavorsOf(cpu) };
  const rest = { workers: workersOf(workers), scaling, dataCenterIds, networkVolumes, timeout, flashboot };
  return given({ name, type, ...containerOf(record), ...compute, ...rest });
}

const endpointGpu = ({ pools, count, excludedTypes, allowedCudaVersions, minCudaVersion }: Fields) => {
  const excluded = Array.isArray(excludedTypes) && excludedTypes.length === 0 ? undefined : excludedTypes;
  return given({
    ...{ pools, count, excludedTypes: excluded, allowedCudaVersions },
    minCudaVersion: minCudaVersion || undefined,
  });
};

const flavorsOf = (cpu: unknown): unknown =>
  Array.isArray(cpu) ? cpu.map((one) => (isFields(one) ? given({ id: one.id, vcpuCount: one.vcpuCount }) : one)) : cpu;

function workersOf(workers: unknown): unknown {
  if (!isFields(workers)) return workers;
  const { min, max, idleTimeout, warmup } = workers;
  return given({ min, max, idleTimeout, warmup: warmup ?? undefined });
}

function podBody(record: Fields): Fields {
  const { name, gpu, cpu, cloud, mounts, globalNetworking, idleTimeout, locked } = record;
  const compute = isFields(gpu) ? { gpu: given({ id: gpu.id, count: gpu.count }) } : { cpu: flavorOf(cpu) };
  const network = isFields(globalNetworking) ? globalNetworking.enabled : globalNetworking;
  const rest = { cloud, mounts, globalNetworking: network, idleTimeout: idleTimeout ?? undefined, locked };
  return given({ name, ...containerOf(record), ...compute, ...rest });
}

const flavorOf = (cpu: unknown): unknown => (isFields(cpu) ? given({ id: cpu.id, vcpuCount: cpu.vcpuCount }) : cpu);
