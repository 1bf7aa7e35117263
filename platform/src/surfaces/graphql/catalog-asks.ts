/** Translates a question about a price or free capacity into the terms of the catalog. Empty or null values count as not given. */
import { GraphQLInputObjectType, GraphQLList } from "graphql";
import { problem } from "../../kernel/problem.ts";
import type { PriceAsk } from "../../resources/catalog/flat-view.ts";
import type { Arguments } from "./context.ts";
import { Compliance } from "./enums.ts";
import { allIn, flag, given, int, text } from "./fields.ts";

const texts = new GraphQLList(text);

export const GpuTypeFilter = new GraphQLInputObjectType({
  name: "GpuTypeFilter",
  fields: { ...allIn(text, "id"), ...allIn(texts, "ids"), ...allIn(flag, "cluster") },
});

export const GpuLowestPriceInput = new GraphQLInputObjectType({
  name: "GpuLowestPriceInput",
  fields: {
    ...allIn(int, "gpuCount", "minDisk", "minDownload", "minMemoryInGb", "minUpload", "minVcpuCount", "totalDisk"),
    ...allIn(flag, "secureCloud", "includeAiApi", "supportPublicIp"),
    ...allIn(text, "countryCode", "dataCenterId", "cudaVersion", "minCudaVersion"),
    ...allIn(texts, "allowedCudaVersions"),
    ...allIn(new GraphQLList(Compliance), "compliance"),
  },
});

export const GpuAvailabilityInput = new GraphQLInputObjectType({
  name: "GpuAvailabilityInput",
  fields: {
    ...allIn(int, "gpuCount", "minDisk", "minMemoryInGb", "minVcpuCount"),
    ...allIn(flag, "secureCloud", "includeAiApi"),
    ...allIn(texts, "allowedCudaVersions"),
    ...allIn(text, "minCudaVersion"),
  },
});

export const CpuFlavorInput = new GraphQLInputObjectType({ name: "CpuFlavorInput", fields: allIn(text, "id") });

export const SpecificsInput = new GraphQLInputObjectType({
  name: "SpecificsInput",
  fields: allIn(text, "instanceId", "dataCenterId"),
});

/** No machine has more. */
const MOST_GPUS = 1000;
const MOST_NAMED = 50;
const LONGEST_NAME = 100;

/**
 * Ignores three conditions. No one measures how fast a machine's network is. Every machine publishes ports at an address of its own. And
 * endpoints that others offer are no part of the catalog.
 */
export function priceAsk(input: Arguments): PriceAsk {
  refuseLong(input);
  const asked = given(input, "countryCode", "dataCenterId", "cudaVersion", "minCudaVersion") as Said;
  const { gpuCount = 1, secureCloud, countryCode, dataCenterId, compliance = [] } = asked;
  const cuda = cudaOf(asked);
  const least = { vcpu: asked.minVcpuCount ?? 0, memoryGb: asked.minMemoryInGb ?? 0 };
  const diskGb = Math.max(0, asked.minDisk ?? 0, asked.totalDisk ?? 0);
  return {
    count: Math.min(Math.max(1, gpuCount), MOST_GPUS),
    ...(secureCloud !== undefined && { isSecure: secureCloud }),
    ...(countryCode !== undefined && { countryCodes: [countryCode] }),
    ...(dataCenterId !== undefined && { dataCenters: [dataCenterId] }),
    ...(cuda && { cuda }),
    ...((least.vcpu > 0 || least.memoryGb > 0) && { least }),
    ...(diskGb > 0 && { diskGb }),
    ...(compliance.length > 0 && { compliance }),
  };
}

/** One text of a variable may be used in hundreds of places, and each place compares it with every entry of the catalog. */
function refuseLong(input: object | null | undefined): void {
  for (const [name, value] of Object.entries(input ?? {})) {
    const texts = [value].flat();
    if (texts.length > MOST_NAMED || texts.some((one) => typeof one === "string" && one.length > LONGEST_NAME))
      throw problem("invalid", `'${name}' takes up to ${MOST_NAMED} names of up to ${LONGEST_NAME} characters.`);
  }
}

interface Said {
  gpuCount?: number;
  minDisk?: number;
  totalDisk?: number;
  minMemoryInGb?: number;
  minVcpuCount?: number;
  secureCloud?: boolean;
  countryCode?: string;
  dataCenterId?: string;
  cudaVersion?: string;
  minCudaVersion?: string;
  allowedCudaVersions?: (string | null)[];
  compliance?: string[];
}

function cudaOf({ cudaVersion, minCudaVersion, allowedCudaVersions = [] }: Said): PriceAsk["cuda"] {
  const named = [...allowedCudaVersions, cudaVersion].filter((one) => typeof one === "string" && one !== "");
  if (named.length > 0) return { oneOf: named as string[] };
  return minCudaVersion === undefined ? undefined : { atLeast: minCudaVersion };
}
