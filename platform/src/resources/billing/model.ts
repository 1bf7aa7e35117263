/** Billing histories, as callers read them: what each bucket of time cost, in USD. */
import { bucketSizes } from "../../kernel/calendar.ts";
import { dateTime, nullable, oneOf, type Static, type TProperties, t } from "../../kernel/schema.ts";

const usd = (description: string) => t.Number({ description: `USD: ${description}.` });
const total = usd("all of the amounts together");
const none = "there is no such charge here; always 0";

/** The amounts that each history has, in addition to their sum. */
const amountsOf = {
  all: {
    podGpuAmount: usd("GPUs of Pods"),
    podCpuAmount: usd("vCPUs of Pods without GPUs"),
    podDiskAmount: usd("container disks and persistent mounts of Pods"),
    serverlessGpuAmount: usd("GPUs of workers"),
    serverlessCpuAmount: usd("vCPUs of workers without GPUs"),
    serverlessDiskAmount: usd("disks of workers"),
    serverlessFeeAmount: usd(none),
    storageStandardAmount: usd("network volumes of the standard tier"),
    storageHighPerformanceAmount: usd("network volumes of the high-performance tier"),
    endpointAmount: usd("public endpoints of other accounts"),
    clusterGpuAmount: usd("GPUs of cluster members"),
    clusterDiskAmount: usd("disks of cluster members"),
    clusterNetworkingAmount: usd(none),
  },
  pods: {
    gpuAmount: usd("its GPUs"),
    cpuAmount: usd("its vCPUs, where it has no GPU"),
    diskAmount: usd("its container disk and its persistent mount"),
  },
  serverless: {
    gpuAmount: usd("GPUs of its workers"),
    cpuAmount: usd("vCPUs of its workers, where they have no GPU"),
    diskAmount: usd("disks of its workers"),
    feeAmount: usd(none),
  },
  endpoints: {},
  networkVolumes: { standardAmount: usd("as a standard one"), highPerformanceAmount: usd("as a high-performance one") },
  clusters: {
    gpuAmount: usd("GPUs of its members"),
    diskAmount: usd("disks of its members"),
    networkingAmount: usd(none),
  },
} as const satisfies Record<string, TProperties>;

const bucket = {
  startTime: dateTime("When the bucket begins."),
  endTime: dateTime("When it ends: the first moment that is not in it."),
};

interface Kind<Of extends TProperties, Filter extends string, Count extends string> {
  /** The prefix of the names of its schemas. */
  called: string;
  amounts: Of;
  /** The id field that its records have and can be filtered by. */
  filter?: Filter;
  count?: Count;
}

/** The response of one history: one record for each bucket and owner that cost something. */
function history<const Of extends TProperties, Filter extends string = never, Count extends string = never>(
  kind: Kind<Of, Filter, Count>,
) {
  const { called, amounts, filter, count } = kind;
  const ids = (filter ? { [filter]: t.String() } : {}) as { [K in Filter]: ReturnType<typeof t.String> };
  const asked = (filter ? { [filter]: t.Optional(nullable(t.String())) } : {}) as unknown as Record<never, never>;
  const counted = count
    ? { [count]: t.Integer({ minimum: 0, description: "How many there are in the records." }) }
    : {};
  const record = t.Object({ ...ids, ...bucket, totalAmount: total, ...amounts }, { $id: `${called}Record` });
  const metadata = t.Object({
    query: t.Object(
      {
        startTime: dateTime("The first moment."),
        endTime: dateTime("The end of the range, which is not part of it."),
        bucketSize: oneOf(bucketSizes),
        ...asked,
      },
      { description: "What was asked for, with every default, on the boundaries of buckets." },
    ),
    recordCount: t.Integer({ minimum: 0 }),
    totals: t.Object({ totalAmount: total, ...amounts }, { description: "Over all records." }),
    ...(counted as { [K in Count]: ReturnType<typeof t.Integer> }),
  });
  return t.Object({ records: t.Array(record), metadata }, { $id: called });
}

export const BillingHistory = history({ called: "BillingHistory", amounts: amountsOf.all });
export const PodBilling = history({
  ...{ called: "PodBilling", amounts: amountsOf.pods, filter: "podId", count: "uniquePodCount" },
});
export const ServerlessBilling = history({
  ...{
    called: "ServerlessBilling",
    amounts: amountsOf.serverless,
    filter: "serverlessId",
    count: "uniqueServerlessCount",
  },
});
export const EndpointBilling = history({ called: "EndpointBilling", amounts: amountsOf.endpoints });
export const NetworkVolumeBilling = history({
  ...{ called: "NetworkVolumeBilling", amounts: amountsOf.networkVolumes },
  ...{ filter: "networkVolumeId", count: "uniqueNetworkVolumeCount" },
});
export const ClusterBilling = history({
  ...{ called: "ClusterBilling", amounts: amountsOf.clusters, filter: "clusterId", count: "uniqueClusterCount" },
});

export type BillingHistory = Static<typeof BillingHistory>;

/** What every history can be asked for. */
export const bucketWindow = {
  startTime: t.Optional(dateTime("Moved back to where its bucket begins; 30 days ago by default.")),
  endTime: t.Optional(dateTime("Not itself in it. Moved on to where its bucket ends; now by default.")),
  bucketSize: t.Optional(oneOf(bucketSizes, { default: "day", description: "In UTC; a week begins on Monday." })),
  lastN: t.Optional(
    t.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: "So many buckets, the last of them the current one; not beside `startTime` or `endTime`.",
    }),
  ),
};
