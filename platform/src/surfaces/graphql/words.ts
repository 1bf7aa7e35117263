/** GraphQL's names for fields in refusals, where its inputs have other names than the flat dialects. */
import type { Said } from "../../kernel/flat-words.ts";
import { endpointDialect } from "../../resources/endpoints/flat.ts";
import { podDialect } from "../../resources/pods/flat.ts";
import { templateDialect } from "../../resources/templates/flat.ts";

/** Takes the dialect's names, except those listed in `otherwise`: each entry maps a GraphQL name to the names that it replaces. */
function words(fields: Said, otherwise: Readonly<Record<string, readonly string[]>>): Said {
  const renamed = Object.values(otherwise).flat();
  const kept = Object.entries(fields).filter(([name]) => !renamed.includes(name));
  const own = Object.entries(otherwise).map(([name, says]) => [name, { says: [...says] }] as const);
  return Object.fromEntries([...own, ...kept]);
}

export const podWords = words(podDialect.fields, {
  gpuTypeId: ["gpuTypeIds", "gpu.types", "gpu.id", "gpu"],
  instanceId: ["cpu", "cpu.id", "cpu.vcpuCount"],
  dataCenterId: ["dataCenterIds"],
  countryCode: ["countryCodes"],
  minMemoryInGb: ["minRAMPerGPU", "gpu.minRamPerGpu"],
  minVcpuCount: ["minVCPUPerGPU", "gpu.minVcpuPerGpu"],
});

export const endpointWords = words(endpointDialect.fields, {
  gpuIds: ["gpuTypeIds", "gpu.types", "gpu.pools", "gpu.excludedTypes", "gpu"],
  locations: ["dataCenterIds"],
});

export const templateWords = words(templateDialect.fields, {});

export const clusterWords = words(podDialect.fields, {
  clusterName: ["name"],
  gpuTypeId: ["compute.gpuTypeId", "gpu.types", "gpuTypeIds"],
  gpuCountPerPod: ["compute.gpuCountPerPod", "gpuCount"],
  podCount: ["compute.podCount"],
});
