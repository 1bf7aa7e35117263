/** Answers the REST v2 operations on the catalog. */
import {
  type CpuFlavor,
  cpuFlavor,
  cpuFlavors,
  type DataCenter,
  dataCenter,
  dataCenters,
  type GpuType,
  gpuPrice,
  gpuType,
  gpuTypes,
  mostSold,
  volumePrices,
} from "../../catalog/compute.ts";
import type { Cloud, VolumeType } from "../../catalog/words.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import type { CpuType, DataCenter as ShownDataCenter, GpuType as ShownGpuType } from "./model.ts";
import type { catalogOperations } from "./operations.ts";
import type { CatalogService, CpuSupply, GpuAsk, GpuSupply } from "./service.ts";

type Operations = typeof catalogOperations;
type GpuQuery = Call<Operations["listGpuTypes"]>["query"];
type CpuQuery = Call<Operations["listCpuTypes"]>["query"];
type DataCenterQuery = Call<Operations["listDataCenters"]>["query"];

export function catalogHandlers(catalog: CatalogService): Handlers<Operations> {
  const gpus = async (types: readonly GpuType[], ask: AskedGpus | undefined) => {
    const supplies = ask && (await catalog.gpus(types, ask));
    return types.map((type, i) => ({ type, supply: supplies?.[i] && soldOf(type, ask!, supplies[i]) }));
  };
  const cpus = async (flavors: readonly CpuFlavor[], query: CpuQuery) => {
    const supplies = isAsked(query, ["vcpuCount"]) ? await catalog.cpus(flavors, query.vcpuCount) : undefined;
    return flavors.map((flavor, i) => shownCpu(flavor, supplies?.[i]));
  };
  return {
    async listGpuTypes({ query }) {
      const ask = gpuAsk(query);
      const found = await gpus(gpuTypes(), ask);
      const isMeant = ({ supply }: (typeof found)[number]) => !ask?.countryCodes || supply?.isThere;
      return { gpus: found.filter(isMeant).map(({ type, supply }) => shownGpu(type, supply)) };
    },
    async getGpuType({ params, query }) {
      const ask = gpuAsk(query);
      const [found] = await gpus([known("GPU type", gpuType, params.id!)], ask);
      return shownGpu(found!.type, found!.supply);
    },
    listCpuTypes: async ({ query }) => ({ cpus: await cpus(cpuFlavors(), query) }),
    async getCpuType({ params, query }) {
      isAsked(query, ["vcpuCount"]);
      return (await cpus([known("CPU type", cpuFlavor, params.id!)], query))[0]!;
    },
    async listDataCenters({ query }) {
      const shown = await shownWith(catalog, query.include);
      const found = dataCenters().filter((one) => matches(one, query));
      return { dataCenters: found.map(shown) };
    },
    async getDataCenter({ params, query }) {
      const found = known("data center", dataCenter, params.id!);
      return (await shownWith(catalog, query.include))(found);
    },
  };
}

function known<T>(what: string, find: (id: string) => T | undefined, id: string): T {
  const found = find(id);
  if (found === undefined) throw problem("not-found", `${what} not found`);
  return found;
}

/**
 * Whether the query asks for availability. Availability needs `include` and `product` together; its other parameters are refused without
 * `include`.
 */
function isAsked<Q extends { include?: unknown; product?: readonly string[] }>(query: Q, with_: (keyof Q)[]): boolean {
  if (query.include !== undefined) {
    if (query.product === undefined) throw problem("rule-broken", "'include' needs 'product' beside it.");
    return true;
  }
  const stray = (["product", ...with_] as (keyof Q & string)[]).find((name) => query[name] !== undefined);
  if (stray !== undefined) throw problem("rule-broken", `'${stray}' needs 'include=AVAILABILITY' beside it.`);
  return false;
}

type AskedGpus = GpuAsk & { cloud?: Cloud };

function gpuAsk(query: GpuQuery): AskedGpus | undefined {
  const { count = 1, cloud = "SECURE", countryCodes, cudaVersions, minCudaVersion } = query;
  const isMeant = isAsked(query, ["count", "cloud", "countryCodes", "cudaVersions", "minCudaVersion"]);
  if (cudaVersions && minCudaVersion !== undefined)
    throw problem("rule-broken", "'cudaVersions' and 'minCudaVersion' exclude each other; send one of them.");
  if (!isMeant) return undefined;
  const cuda = cudaVersions ? { oneOf: cudaVersions } : minCudaVersion ? { atLeast: minCudaVersion } : undefined;
  // Only Pods are sold by cloud; workers and clusters have none.
  const isForPods = query.product?.every((product) => product === "POD");
  return { count, ...(cuda && { cuda }), ...(countryCodes && { countryCodes }), ...(isForPods && { cloud }) };
}

/** Reports a type as unavailable if the requested cloud does not sell this many GPUs at once. */
function soldOf({ id }: GpuType, { cloud, count }: AskedGpus, supply: GpuSupply): GpuSupply {
  if (cloud === undefined || mostSold(id, cloud) >= count) return supply;
  const none = { availability: "NONE" } as const;
  return { ...supply, ...none, dataCenters: supply.dataCenters.map((center) => ({ ...center, ...none })) };
}

function shownGpu(type: GpuType, supply: GpuSupply | undefined): ShownGpuType {
  const { id, name, pool, manufacturer, memory, secure, community, price, maxCount } = type;
  return {
    ...{ id, name, pool, manufacturer, memory, secure, community, maxCount },
    price: { secure: price.secure, community: price.community, serverless: gpuPrice.worker(id) },
    ...(supply && {
      availability: supply.availability,
      ...(supply.virtual && { virtual: true }),
      ...unlessEmpty("dataCenters", supply.dataCenters),
      ...unlessEmpty("cudaVersions", supply.cudaVersions),
    }),
  };
}

function shownCpu(flavor: CpuFlavor, supply: CpuSupply | undefined): CpuType {
  const { id, name, group, minVcpu: min, maxVcpu: max, ramGbPerVcpu, price } = flavor;
  const plain = { id, name, group, vcpu: { min, max }, ramGbPerVcpu, price };
  if (!supply) return plain;
  return { ...plain, availability: supply.availability, ...unlessEmpty("dataCenters", supply.dataCenters) };
}

/** A data center matches if it is in any of the regions, has all of the volume types and certificates, and meets every other filter. */
function matches(center: DataCenter, { regions, networkVolumeTypes, compliance, globalNetwork }: DataCenterQuery) {
  const hasAll = <T>(has: readonly T[], asked: readonly T[] = []) => asked.every((one) => has.includes(one));
  return (
    (!regions || regions.includes(center.region)) &&
    hasAll(center.networkVolumeTypes, networkVolumeTypes) &&
    hasAll(center.compliance, compliance) &&
    (globalNetwork === undefined || center.globalNetwork === globalNetwork)
  );
}

/** Returns a function that shows a data center with the parts that `include` names. */
async function shownWith(catalog: CatalogService, include: DataCenterQuery["include"] = []) {
  const gpus = include.includes("GPU_AVAILABILITY") ? await catalog.gpusByDataCenter(gpuTypes()) : undefined;
  const cpus = include.includes("CPU_AVAILABILITY") ? await catalog.cpusByDataCenter(cpuFlavors()) : undefined;
  return ({ id, name, region, globalNetwork, networkVolumeTypes, compliance }: DataCenter): ShownDataCenter => ({
    ...{ id, name, region, globalNetwork, networkVolumeTypes: [...networkVolumeTypes], compliance },
    ...unlessEmpty("gpuAvailability", gpus?.get(id) ?? []),
    ...unlessEmpty("cpuAvailability", cpus?.get(id) ?? []),
    ...(include.includes("VOLUME_PRICES") && { networkVolumePrices: networkVolumeTypes.map(volumePriceOf) }),
  });
}

function volumePriceOf(type: VolumeType) {
  const { first, beyond } = volumePrices(type);
  return { type, perGbMonth: first, beyondTbPerGbMonth: beyond };
}

const unlessEmpty = <N extends string, T>(name: N, list: T[]) =>
  (list.length === 0 ? {} : { [name]: list }) as { [K in N]?: T[] };
