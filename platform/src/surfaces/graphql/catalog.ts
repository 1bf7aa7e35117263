/** The catalog by GraphQL, which anybody may read. */
import { GraphQLObjectType } from "graphql";
import {
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
  lowestPrices,
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
import { Compliance } from "./enums.ts";
import { all, flag, float, given, int, listOf, text } from "./fields.ts";
import { lookup } from "./operations.ts";

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
    // Nobody here pays for a time in advance.
    ...all(float, "oneWeekPrice", "oneMonthPrice", "threeMonthPrice", "sixMonthPrice", "oneYearPrice"),
    ...all(listOf(int), "nodeGroupGpuSizes"),
    nodeGroupDatacenters: {
      type: listOf(DataCenter),
      resolve: ({ id }, _args, context) =>
        context.once(`groups ${id}`, () => clusterDataCenters(context.services.catalog, id)),
    },
    lowestPrice: {
      type: Price,
      args: { input: { type: GpuLowestPriceInput } },
      resolve: ({ id }, { input }, context) => priceOf(id, input, context),
    },
  }),
});

/** As often as it is asked the same of all types, it is counted once. */
async function priceOf(id: string, input: unknown, context: GraphContext) {
  const ask = priceAsk(input);
  const { catalog } = context.services;
  const prices = await context.once(`price ${JSON.stringify(ask)}`, () => lowestPrices(catalog, ask));
  const [center] = ask.dataCenters ?? [];
  const compliance = center === undefined ? null : (knownDataCenter(center)?.compliance ?? null);
  return { ...prices.get(id), ask, compliance, countryCode: ask.countryCodes?.[0] ?? null };
}

const GpuAvailability = new GraphQLObjectType<{ gpuTypeId: string }, GraphContext>({
  name: "GpuAvailability",
  fields: () => ({
    ...all(text, "id", "gpuTypeId", "gpuTypeDisplayName", "displayName", "stockStatus"),
    ...all(flag, "available"),
    gpuType: { type: GpuType, resolve: ({ gpuTypeId }) => knownGpuType(gpuTypeId) },
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
      resolve: async ({ id }, { input }, context) => {
        const ask = priceAsk(input);
        const { catalog } = context.services;
        const all = await context.once(`free ${JSON.stringify(ask)}`, () => gpuAvailability(catalog, ask));
        return all.get(id) ?? [];
      },
    },
    // The operator's own.
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
    answer: async (_call, _context, { input }) => gpuTypesLike(given(input, "id")),
  },
  // Which processors the machines have is told to nobody.
  cpuTypes: { type: listOf(CpuType), operation: cpus, answer: async () => [] },
  cpuFlavors: {
    type: listOf(CpuFlavor),
    args: { input: { type: CpuFlavorInput } },
    operation: cpus,
    answer: async (_call, _context, { input }) => {
      const { id } = given(input, "id");
      return flatCpuFlavors().filter((flavor) => id === undefined || flavor.id === id);
    },
  },
  dataCenters: { type: listOf(DataCenter), operation: centers, answer: async () => flatDataCenters() },
  countryCodes: { type: listOf(text), operation: centers, answer: async () => countryCodes() },
  serverlessGpuPools: { type: listOf(ServerlessGpuPool), operation: gpus, answer: async () => flatGpuPools() },
} satisfies OperationFields;

function gpuTypesLike({ id, ids, cluster }: { id?: string; ids?: (string | null)[]; cluster?: boolean }) {
  return flatGpuTypes().filter(
    (type) =>
      (id === undefined || type.id === id) &&
      (ids === undefined || ids.length === 0 || ids.includes(type.id)) &&
      // Clusters are of the secure cloud.
      (cluster !== true || type.secureCloud),
  );
}
