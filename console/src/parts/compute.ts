/** Between GPU types that a person chooses and the pools that an endpoint asks for, and what a choice costs. */
import type { CpuType, GpuType } from "@millrace/platform/resources/catalog/model.ts";

export interface GpuRequest {
  id?: string;
  pools?: string[];
  excludedTypes?: string[];
  count?: number;
}

type Typed = Pick<GpuType, "id" | "pool">;

/** A type outside all pools is a pool of its own, which has its name. */
const poolOf = ({ id, pool }: Typed) => pool ?? id;

/** The types that a request or a record names, in the order of its pools. */
export function chosenTypes<T extends Typed>(request: GpuRequest | undefined, catalog: readonly T[]): T[] {
  if (!request) return [];
  if (request.id !== undefined) return catalog.filter(({ id }) => id === request.id);
  const { pools = [], excludedTypes = [] } = request;
  return pools.flatMap((pool) => catalog.filter((type) => poolOf(type) === pool && !excludedTypes.includes(type.id)));
}

/**
 * The request for these types. One type is asked for by its name. Several are asked for by their pools, without the types of those pools
 * that were not chosen. Other terms of the request stay.
 */
export function requestFor<R extends GpuRequest>(before: R, types: readonly Typed[], catalog: readonly Typed[]): R {
  const { id: _id, pools: _pools, excludedTypes: _excluded, ...rest } = before;
  if (types.length === 1) return { ...rest, id: types[0]!.id } as unknown as R;
  if (types.length === 0) return rest as unknown as R;
  const pools = [...new Set(types.map(poolOf))];
  const excludedTypes = catalog
    .filter((one) => pools.includes(poolOf(one)) && !types.some(({ id }) => id === one.id))
    .map(({ id }) => id);
  return { ...rest, pools, excludedTypes } as unknown as R;
}

export const toggled = <T extends Typed>(chosen: readonly T[], type: T): T[] =>
  chosen.some(({ id }) => id === type.id) ? chosen.filter(({ id }) => id !== type.id) : [...chosen, type];

export interface Range {
  least: number;
  most: number;
}

/** USD an hour of one worker. The types that it may get can differ in price. */
export function gpuWorkerPrice(types: readonly Pick<GpuType, "price">[], count: number): Range | undefined {
  if (types.length === 0) return undefined;
  const prices = types.map(({ price }) => (price.serverless ?? price.secure) * count);
  return { least: Math.min(...prices), most: Math.max(...prices) };
}

export function cpuWorkerPrice(
  chosen: readonly { id: string; vcpuCount: number }[],
  catalog: readonly Pick<CpuType, "id" | "price">[],
): Range | undefined {
  const prices = chosen.flatMap(({ id, vcpuCount }) =>
    catalog.filter((type) => type.id === id).map(({ price }) => price.serverlessPerVcpu * vcpuCount),
  );
  return prices.length === 0 ? undefined : { least: Math.min(...prices), most: Math.max(...prices) };
}

/** The powers of two that a flavor comes in. */
export function vcpuCounts({ vcpu: { min, max } }: Pick<CpuType, "vcpu">): number[] {
  const counts: number[] = [];
  for (let count = 2; count <= max; count *= 2) if (count >= min) counts.push(count);
  return counts;
}
