/** The catalog as flat surfaces show it: every type with its prices, and the lowest price for a request. */
import {
  type CpuFlavor,
  cpuFlavors,
  cpuPrice,
  type DataCenter,
  dataCenter,
  dataCenters,
  type GpuType,
  gpuPrice,
  gpuType,
  gpuTypeIds,
  gpuTypes,
  mostSold,
  poolIds,
  typesOfPool,
} from "../../catalog/compute.ts";
import type { Availability } from "../../catalog/words.ts";
import { flavorOf } from "../container/instance-ids.ts";
import type { CatalogService, GpuAsk, GpuOffer } from "./service.ts";

export { compliances } from "../../catalog/words.ts";

const MANUFACTURERS: Record<string, string> = { NVIDIA: "Nvidia", AMD: "AMD" };
const STOCK: Record<Availability, string | null> = { HIGH: "High", MEDIUM: "Medium", LOW: "Low", NONE: null };

const stockStatus = (availability: Availability): string | null => STOCK[availability];

export const flatGpuTypes = (catalog: CatalogService) => catalog.shared("types", () => gpuTypes().map(flatGpuType));
export type FlatGpuType = ReturnType<typeof flatGpuType>;

function flatGpuType({ id, name, memory, manufacturer, secure, community, price, maxCount }: GpuType) {
  return {
    id,
    displayName: name,
    manufacturer: MANUFACTURERS[manufacturer] ?? "unknown",
    memoryInGb: memory,
    // Public clients see 0 here for every type.
    cudaCores: 0,
    maxGpuCount: Math.max(maxCount.secure, maxCount.community),
    maxGpuCountSecureCloud: maxCount.secure,
    maxGpuCountCommunityCloud: maxCount.community,
    minPodGpuCount: 1,
    secureCloud: secure,
    communityCloud: community,
    securePrice: gpuPrice.pod(id, "SECURE"),
    communityPrice: gpuPrice.pod(id, "COMMUNITY"),
    clusterPrice: gpuPrice.member(id),
    secureSpotPrice: price.secureSpot ?? null,
    communitySpotPrice: price.communitySpot ?? null,
  };
}

/** The number of entries in each part of the catalog. */
export const catalogCounts = {
  gpuTypes: () => gpuTypeIds().length,
  dataCenters: () => dataCenters().length,
  cpuFlavors: () => cpuFlavors().length,
};

export interface PriceAsk extends GpuAsk {
  /** Asks for the secure or the community cloud. When absent, the cheaper one counts. */
  isSecure?: boolean;
}

/**
 * The hourly price of as many GPUs as the request names. It has no prices if no machine could ever provide them. Undefined if the id names
 * no type.
 */
export function lowestPrice(catalog: CatalogService, id: string, ask: PriceAsk): Promise<LowestPrice> | undefined {
  const type = gpuType(id);
  const { isSecure: _, ...wish } = ask;
  return (
    type &&
    catalog.shared(`price ${id} ${JSON.stringify(ask)}`, async () =>
      priceOf(type, await catalog.offer(type, wish), ask),
    )
  );
}
export type LowestPrice = ReturnType<typeof priceOf>;

function priceOf(type: GpuType, { availability, installed }: GpuOffer, { count, isSecure }: PriceAsk) {
  const { total, free, most, mostFree } = installed;
  const unit = total >= count && most >= count ? unitPrice(type, count, isSecure) : undefined;
  if (!unit) return { gpuName: type.name, gpuTypeId: type.id, stockStatus: null, totalCount: total };
  const { vcpu, memoryGb } = type.share;
  return {
    gpuName: type.name,
    gpuTypeId: type.id,
    stockStatus: stockStatus(availability),
    uninterruptablePrice: rounded(unit.onDemand * count),
    minimumBidPrice: rounded(unit.spot * count),
    minVcpu: vcpu * count,
    minMemory: memoryGb * count,
    totalCount: total,
    rentedCount: total - free,
    rentalPercentage: total === 0 ? 0 : rounded((total - free) / total),
    maxUnreservedGpuCount: mostFree,
    availableGpuCounts: Array.from({ length: Math.min(mostFree, unit.most) }, (_, i) => i + 1),
    supportPublicIp: true,
  };
}

/** The price in a cloud that sells this many GPUs at once. Without `isSecure` the cheaper cloud counts. */
function unitPrice({ id, secure, community }: GpuType, count: number, isSecure: boolean | undefined) {
  const choices = [
    { there: secure && isSecure !== false, cloud: "SECURE" as const },
    { there: community && isSecure !== true, cloud: "COMMUNITY" as const },
  ];
  const sold = choices.flatMap(({ there, cloud }) => {
    const most = mostSold(id, cloud);
    return there && most >= count ? [{ most, onDemand: gpuPrice.pod(id, cloud), spot: gpuPrice.spot(id, cloud) }] : [];
  });
  return sold.toSorted((a, b) => a.onDemand - b.onDemand)[0];
}

/** Removes the digits that binary fractions add to a sum of prices. */
const rounded = (usd: number) => Number(usd.toFixed(9));

export const flatCpuFlavors = () => cpuFlavors().map(flatCpuFlavor);

function flatCpuFlavor(flavor: CpuFlavor) {
  const { id, name, minVcpu, maxVcpu, ramGbPerVcpu, diskGbPerVcpu } = flavor;
  const groupId = id.replace(/[a-z]$/, "");
  return {
    id,
    displayName: name,
    groupId,
    groupName: groupId.toUpperCase(),
    minVcpu,
    maxVcpu,
    ramMultiplier: ramGbPerVcpu,
    diskLimitPerVcpu: diskGbPerVcpu,
    vcpuBurstable: false,
  };
}

/** The price and the availability of one size of a flavor; without `instanceId`, of its smallest size. */
export const cpuSpecifics = (
  catalog: CatalogService,
  id: string,
  asked: { instanceId?: string; dataCenterId?: string },
) => catalog.shared(`cpu ${id} ${JSON.stringify(asked)}`, () => specificsOf(catalog, id, asked));

async function specificsOf(catalog: CatalogService, id: string, asked: { instanceId?: string; dataCenterId?: string }) {
  const flavor = cpuFlavors().find((one) => one.id === id)!;
  const named = asked.instanceId === undefined ? undefined : flavorOf(asked.instanceId).vcpuCount;
  const vcpu = named || flavor.minVcpu;
  const { availability } = await catalog.cpu(flavor, vcpu, asked.dataCenterId);
  return {
    stockStatus: stockStatus(availability),
    securePrice: rounded(cpuPrice(id) * vcpu),
    slsPrice: rounded(cpuPrice(id, "worker") * vcpu),
  };
}

/** Public clients know most of Europe as one area. These countries have names of their own. */
const AREAS: Record<string, string> = { FR: "France", SG: "SE Asia" };
const countries = new Intl.DisplayNames(["en"], { type: "region" });

export const flatDataCenters = (catalog: CatalogService) =>
  catalog.shared("data centers", () => dataCenters().map(flatDataCenter));

export function knownDataCenter(id: string): FlatDataCenter | undefined {
  const found = dataCenter(id);
  return found && flatDataCenter(found);
}

export type FlatDataCenter = ReturnType<typeof flatDataCenter>;

function flatDataCenter(center: DataCenter) {
  const { id, globalNetwork, networkVolumeTypes, compliance } = center;
  return {
    id,
    // Clients know data centers by their ids.
    name: id,
    location: areaOf(center),
    listed: true,
    storageSupport: networkVolumeTypes.length > 0,
    globalNetwork,
    compliance,
  };
}

function areaOf({ id, country, region }: DataCenter): string {
  const known = country === undefined ? undefined : AREAS[country];
  if (known !== undefined) return known;
  if (region === "EUROPE") return "Europe";
  return country === undefined ? id : (countries.of(country) ?? country);
}

export const countryCodes = (): string[] =>
  [...new Set(dataCenters().flatMap(({ country }) => country ?? []))].toSorted();

export const flatGpuPools = () => poolIds().map((id) => ({ id, gpuTypeIds: typesOfPool(id) ?? [] }));

/** Lists for each data center what its machines have of every GPU type. */
export const gpuAvailability = (catalog: CatalogService, ask: GpuAsk) =>
  catalog.shared(`free ${JSON.stringify(ask)}`, () => availabilityOf(catalog, ask));

async function availabilityOf(catalog: CatalogService, ask: GpuAsk) {
  const found = await catalog.gpusByDataCenter(gpuTypes(), ask);
  const shown = [...found].map(([center, stocked]) => {
    const types = stocked.map(({ id, name, availability }) => ({
      id: `${center}-${id}`,
      gpuTypeId: id,
      gpuTypeDisplayName: name,
      displayName: name,
      stockStatus: stockStatus(availability),
      available: availability !== "NONE",
    }));
    return [center, types] as const;
  });
  return new Map(shown);
}

/** The CUDA versions of machines that have a type, and whether the type is free on them. */
export const cudaVersions = (catalog: CatalogService, id: string, { isSecure: _, ...ask }: PriceAsk) =>
  catalog.shared(`cuda ${id} ${JSON.stringify(ask)}`, () => cudaOf(catalog, id, ask));

async function cudaOf(catalog: CatalogService, id: string, ask: GpuAsk) {
  const type = gpuType(id);
  const found = type ? await catalog.cudaVersions(type, ask) : [];
  return found.map(({ version, available }) => ({
    cudaVersion: version,
    availability: available ? "AVAILABLE" : "UNAVAILABLE",
  }));
}

/** The data centers where a type can be part of a cluster. */
export const clusterDataCenters = (catalog: CatalogService, id: string): Promise<FlatDataCenter[]> =>
  catalog.shared(`groups ${id}`, () => groupsOf(catalog, id));

async function groupsOf(catalog: CatalogService, id: string): Promise<FlatDataCenter[]> {
  const type = gpuType(id);
  const [supply] = type ? await catalog.gpus([type], { count: 1, groups: true }) : [];
  const ids = supply?.dataCenters.map((center) => center.id) ?? [];
  return flatDataCenters(catalog).filter((center) => ids.includes(center.id));
}

export const knownGpuType = (catalog: CatalogService, id: string): FlatGpuType | undefined =>
  flatGpuTypes(catalog).find((type) => type.id === id);
