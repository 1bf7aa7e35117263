/** The catalog in GraphQL, which anyone may read. */
import { GraphQLObjectType } from "graphql";
import {
  catalogCounts,
  clusterDataCenters,
  countryCodes,
  cpuSpecifics,
  cudaVersions,
  type FlatDataCenter,
  type FlatGpuType,
  flatCpuFlavors,
  flatDataCenters,
  flatGpuPools,
  flatGpuTypes,
  gpuAvailability,
  knownDataCenter,
  knownGpuType,
  type LowestPrice,
  lowestPrice,
  type PriceAsk,
} from "../../resources/catalog/flat-view.ts";
import { catalogOperations } from "../../resources/catalog/operations.ts";
import {
  CpuFlavorInput,
  GpuAvailabilityInput,
  GpuLowestPriceInput,
  GpuTypeFilter,
  priceAsk,
  SpecificsInput,
} from "./catalog-asks.ts";
import type { GraphContext, OperationFields } from "./context.ts";
import { costing } from "./document-cost.ts";
import { Compliance } from "./enums.ts";
import { all, flag, float, given, int, listOf, text } from "./fields.ts";
import { lookup } from "./operations.ts";

/** The cost, in fields, of counting the free places for one request. */
const PRICE = 10;
export const eachDataCenter = { items: catalogCounts.dataCenters };

const CudaVersion = new GraphQLObjectType({
  name: "GpuTypeCudaVersion",
  fields: all(text, "cudaVersion", "availability"),
});

const Price = new GraphQLObjectType<LowestPrice & { ask: PriceAsk }, GraphContext>({
  name: "LowestPrice",
  fields: {
    ...all(text, "gpuName", "gpuTypeId", "stockStatus", "countryCode"),
    ...all(float, "minimumBidPrice", "uninterruptablePrice", "rentalPercentage"),
    ...all(int, "minMemory", "minVcpu", "rentedCount", "totalCount", "minDownload", "minUpload", "minDisk"),
    ...all(int, "maxUnreservedGpuCount"),
    ...all(listOf(int), "availableGpuCounts"),
    ...all(flag, "supportPublicIp"),
    ...all(listOf(Compliance), "compliance"),
    gpuTypeCudaVersions: {
      type: listOf(CudaVersion),
      ...costing({ weight: PRICE, items: () => 5 }),
      resolve: ({ gpuTypeId, ask }, _args, { services }) => cudaVersions(services.catalog, gpuTypeId, ask),
    },
  },
});

export const GpuType: GraphQLObjectType<FlatGpuType, GraphContext> = new GraphQLObjectType({
  name: "GpuType",
  fields: () => ({
    ...all(text, "id", "displayName", "manufacturer"),
    ...all(int, "memoryInGb", "cudaCores", "maxGpuCount", "maxGpuCountCommunityCloud", "maxGpuCountSecureCloud"),
    ...all(int, "minPodGpuCount", "throughput"),
    ...all(flag, "secureCloud", "communityCloud"),
    ...all(float, "securePrice", "communityPrice", "clusterPrice", "secureSpotPrice", "communitySpotPrice"),
    // No one here can pay in advance for a period.
    ...all(float, "oneWeekPrice", "oneMonthPrice", "threeMonthPrice", "sixMonthPrice", "oneYearPrice"),
    ...all(listOf(int), "nodeGroupGpuSizes"),
    nodeGroupDatacenters: {
      type: listOf(DataCenter),
      ...costing(eachDataCenter),
      resolve: ({ id }, _args, { services }) => clusterDataCenters(services.catalog, id),
    },
    lowestPrice: {
      type: Price,
      args: { input: { type: GpuLowestPriceInput } },
      ...costing({ weight: PRICE }),
      resolve: ({ id }, { input }, context) => priceOf(id, input, context),
    },
  }),
});

async function priceOf(id: string, input: unknown, { services }: GraphContext) {
  const ask = priceAsk(input);
  const price = await lowestPrice(services.catalog, id, ask);
  const [center] = ask.dataCenters ?? [];
  const compliance = center === undefined ? null : (knownDataCenter(center)?.compliance ?? null);
  return { ...price, ask, compliance, countryCode: ask.countryCodes?.[0] ?? null };
}

const GpuAvailability = new GraphQLObjectType<{ gpuTypeId: string }, GraphContext>({
  name: "GpuAvailability",
  fields: () => ({
    ...all(text, "id", "gpuTypeId", "gpuTypeDisplayName", "displayName", "stockStatus"),
    ...all(flag, "available"),
    gpuType: {
      type: GpuType,
      resolve: ({ gpuTypeId }, _args, { services }) => knownGpuType(services.catalog, gpuTypeId),
    },
  }),
});

export const DataCenter: GraphQLObjectType<FlatDataCenter, GraphContext> = new GraphQLObjectType({
  name: "DataCenter",
  fields: () => ({
    ...all(text, "id", "name", "location"),
    ...all(flag, "listed", "storageSupport", "globalNetwork"),
    ...all(listOf(Compliance), "compliance"),
    gpuAvailability: {
      type: listOf(GpuAvailability),
      args: { input: { type: GpuAvailabilityInput } },
      ...costing({ weight: PRICE, items: catalogCounts.gpuTypes }),
      resolve: async ({ id }, { input }, { services }) =>
        (await gpuAvailability(services.catalog, priceAsk(input))).get(id) ?? [],
    },
    // Which storage a data center uses is known only to the operator, so this is always null.
    ...all(text, "storage"),
  }),
});

const Specifics = new GraphQLObjectType({
  name: "CpuFlavorSpecifics",
  fields: { ...all(text, "stockStatus"), ...all(float, "securePrice", "slsPrice") },
});

export const CpuFlavor = new GraphQLObjectType<{ id: string }, GraphContext>({
  name: "CpuFlavor",
  fields: {
    ...all(text, "id", "groupId", "groupName", "displayName"),
    ...all(int, "minVcpu", "maxVcpu", "diskLimitPerVcpu"),
    ...all(float, "ramMultiplier"),
    ...all(flag, "vcpuBurstable"),
    specifics: {
      type: Specifics,
      args: { input: { type: SpecificsInput } },
      ...costing({ weight: PRICE }),
      resolve: ({ id }, { input }, { services }) =>
        cpuSpecifics(services.catalog, id, given(input, "instanceId", "dataCenterId")),
    },
  },
});

export const CpuType = new GraphQLObjectType({
  name: "CpuType",
  fields: { ...all(text, "id", "displayName", "manufacturer", "groupId"), ...all(int, "cores", "threadsPerCore") },
});

const ServerlessGpuPool = new GraphQLObjectType({
  name: "ServerlessGpuPool",
  fields: { ...all(text, "id"), ...all(listOf(text), "gpuTypeIds") },
});

const gpus = lookup(catalogOperations.listGpuTypes);
const cpus = lookup(catalogOperations.listCpuTypes);
const centers = lookup(catalogOperations.listDataCenters);

export const catalogQueries = {
  gpuTypes: {
    type: listOf(GpuType),
    args: { input: { type: GpuTypeFilter } },
    operation: gpus,
    cost: { items: ({ input }) => typesMeant(given(input, "id")) },
    answer: async (_call, { services }, { input }) => gpuTypesLike(flatGpuTypes(services.catalog), given(input, "id")),
  },
  // The processors of the machines are not shown to anyone.
  cpuTypes: { type: listOf(CpuType), operation: cpus, answer: async () => [] },
  cpuFlavors: {
    type: listOf(CpuFlavor),
    args: { input: { type: CpuFlavorInput } },
    operation: cpus,
    cost: { items: catalogCounts.cpuFlavors },
    answer: async (_call, _context, { input }) => {
      const { id } = given(input, "id");
      return flatCpuFlavors().filter((flavor) => id === undefined || flavor.id === id);
    },
  },
  dataCenters: {
    type: listOf(DataCenter),
    operation: centers,
    cost: eachDataCenter,
    answer: async (_call, { services }) => flatDataCenters(services.catalog),
  },
  countryCodes: { type: listOf(text), operation: centers, answer: async () => countryCodes() },
  serverlessGpuPools: {
    type: listOf(ServerlessGpuPool),
    operation: gpus,
    needsKey: true,
    answer: async () => flatGpuPools(),
  },
} satisfies OperationFields;

interface TypeFilter {
  id?: string;
  ids?: (string | null)[];
  cluster?: boolean;
}

/** An upper bound of how many GPU types are meant. */
function typesMeant({ id, ids }: TypeFilter): number {
  const named = id === undefined ? [ids ?? []].flat().length : 1;
  return named === 0 ? catalogCounts.gpuTypes() : Math.min(named, catalogCounts.gpuTypes());
}

function gpuTypesLike(types: FlatGpuType[], { id, ids, cluster }: TypeFilter) {
  return types.filter(
    (type) =>
      (id === undefined || type.id === id) &&
      (ids === undefined || ids.length === 0 || ids.includes(type.id)) &&
      // Only the secure cloud has clusters.
      (cluster !== true || type.secureCloud),
  );
}
