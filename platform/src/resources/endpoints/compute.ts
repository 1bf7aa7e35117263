/** The compute of an endpoint: an ordered list of GPU types, or of CPU flavors. */

import { cpuFlavor, poolIds, poolOfType, typesOfPool } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import { endpointDefaults, type KeptCpu, type KeptGpu } from "./model.ts";

/** What a caller sets for an endpoint's GPUs. */
export interface GpuTerms {
  /** The types in order of preference. By default all types are allowed, or those it had before. */
  types?: string[];
  count?: number;
  allowedCudaVersions?: string[];
  minCudaVersion?: string;
}

/** The default if the template says nothing about compute: any GPU. */
export const anyGpu = (): KeptGpu => ({
  types: poolIds().flatMap((pool) => typesOfPool(pool) ?? []),
  count: 1,
  allowedCudaVersions: [],
  minCudaVersion: null,
});

export function gpuFrom(request: GpuTerms, before?: KeptGpu): KeptGpu {
  const allowedCudaVersions =
    request.allowedCudaVersions ?? (request.minCudaVersion ? [] : (before?.allowedCudaVersions ?? []));
  const minCudaVersion =
    request.minCudaVersion ?? (request.allowedCudaVersions?.length ? null : (before?.minCudaVersion ?? null));
  if (allowedCudaVersions.length > 0 && minCudaVersion) {
    throw problem(
      "rule-broken",
      "'gpu.allowedCudaVersions' and 'gpu.minCudaVersion' exclude each other; send one of them.",
    );
  }
  return {
    types: request.types?.map(knownType) ?? before?.types ?? anyGpu().types,
    count: request.count ?? before?.count ?? endpointDefaults.gpuCount,
    allowedCudaVersions,
    minCudaVersion: minCudaVersion || null,
  };
}

export function cpuFrom(request: { id: string; vcpuCount: number }[]): KeptCpu {
  return request.map(({ id, vcpuCount }) => {
    const flavor = cpuFlavor(id);
    if (!flavor) throw problem("rule-broken", `There is no CPU flavor '${id}'.`);
    const isPowerOfTwo = Number.isInteger(Math.log2(vcpuCount));
    if (!isPowerOfTwo || vcpuCount < flavor.minVcpu || vcpuCount > flavor.maxVcpu) {
      throw problem(
        "rule-broken",
        `'vcpuCount' of '${id}' must be a power of two from ${flavor.minVcpu} to ${flavor.maxVcpu}.`,
      );
    }
    return { id, vcpuCount, memory: vcpuCount * flavor.ramGbPerVcpu };
  });
}

function knownType(id: string): string {
  if (poolOfType(id) === undefined) throw problem("rule-broken", `There is no GPU type '${id}'.`);
  return id;
}
