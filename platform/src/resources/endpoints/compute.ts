/** The compute of an endpoint: from what a caller asks for to an ordered list of types, and back to pools. */
import { problem } from "../../kernel/problem.ts";
import { cpuFlavor, poolIds, poolOfType, typesOfPool } from "../catalog/compute.ts";
import { endpointDefaults, type KeptCpu, type KeptGpu } from "./model.ts";

export interface GpuRequest {
  id?: string;
  pools?: string[];
  count?: number;
  excludedTypes?: string[];
  allowedCudaVersions?: string[];
  minCudaVersion?: string;
}

/** For a template that says nothing of compute: any GPU will do. */
export const anyGpu: KeptGpu = {
  types: poolIds.flatMap((pool) => typesOfPool(pool) ?? []),
  count: 1,
  allowedCudaVersions: [],
  minCudaVersion: null,
};

export function gpuFrom(request: GpuRequest, before?: KeptGpu): KeptGpu {
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
    types: gpuTypes(request, before),
    count: request.count ?? before?.count ?? endpointDefaults.gpuCount,
    allowedCudaVersions,
    minCudaVersion: minCudaVersion || null,
  };
}

function gpuTypes({ id, pools, excludedTypes }: GpuRequest, before?: KeptGpu): string[] {
  if (id !== undefined && (pools || excludedTypes))
    throw problem("rule-broken", "'gpu.id' stands alone: it cannot be combined with 'gpu.pools'.");
  if (id !== undefined) return [knownType(id)];
  if (!pools && excludedTypes) throw missingPools("$.gpu: 'excludedTypes' needs 'pools' beside it");
  if (!pools && before) return before.types;
  if (!pools) throw missingPools("$.gpu: one of 'pools' and 'id' is required");
  const offered = pools.flatMap((pool) => typesOfPool(pool) ?? unknownPool(pool));
  const excluded = new Set(excludedTypes?.map((type) => type.trim()));
  for (const type of excluded) {
    if (!offered.includes(type))
      throw problem("rule-broken", `'gpu.excludedTypes' names '${type}', which is in none of the pools.`);
  }
  const types = [...new Set(offered)].filter((type) => !excluded.has(type));
  if (types.length === 0) throw problem("rule-broken", "'gpu.excludedTypes' leaves no GPU type.");
  return types;
}

export function shownGpu({ types, count, allowedCudaVersions, minCudaVersion }: KeptGpu) {
  const pools = [...new Set(types.map((type) => poolOfType(type) ?? type))];
  const excludedTypes = pools.flatMap((pool) => typesOfPool(pool) ?? []).filter((type) => !types.includes(type));
  return { pools, count, ...(excludedTypes.length > 0 ? { excludedTypes } : {}), allowedCudaVersions, minCudaVersion };
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

function unknownPool(pool: string): never {
  throw problem("rule-broken", `There is no GPU pool '${pool}'; there are ${poolIds.join(", ")}.`);
}

const missingPools = (error: string) => problem("invalid", "Request validation failed.", { errors: [error] });
