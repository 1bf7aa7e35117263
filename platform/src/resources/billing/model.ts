/** Billing as callers read it: histories of what each bucket of time cost, and the lines of an export, in USD. */
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

const money = (description: string) =>
  t.String({ pattern: "^\\d+\\.\\d{9}$", description: `USD, exact: ${description}` });
const howMany = (description: string) => nullable(t.Integer({ minimum: 0, description }));
const word = (description: string) => nullable(t.String({ description }));

const ExportLine = t.Object(
  {
    accountId: t.String({ description: "The account that is charged, or that earned it." }),
    accountName: t.String({ description: "Its name now." }),
    kind: oneOf(["pod", "serverless", "cluster", "network-volume", "public-endpoint"]),
    item: oneOf(["gpu", "cpu", "disk", "storage", "requests"]),
    resourceId: t.String({
      description: "The Pod, endpoint, cluster or network volume, or the name of the public endpoint.",
    }),
    resourceName: word("Its name now; null if it has none, or was deleted."),
    instanceId: word("The worker, Pod or volume."),
    gpuType: word("For GPUs."),
    gpuCount: howMany("For GPUs."),
    cpuFlavor: word("For vCPUs."),
    vcpu: nullable(t.Number({ minimum: 0, description: "For vCPUs." })),
    sizeGb: nullable(t.Number({ minimum: 0, description: "For disks and volumes." })),
    dataCenterId: word("Where it was."),
    startTime: dateTime("When the line begins, within the time that was asked for."),
    endTime: dateTime("When it ends."),
    seconds: t.String({
      pattern: "^\\d+\\.\\d{3}$",
      description: "How long. For public endpoints, how long the jobs ran.",
    }),
    requests: howMany("For public endpoints: jobs that ended in this hour."),
    unitPrice: nullable(money("what all of it costs for an hour or a month. Null for public endpoints.")),
    per: nullable(oneOf(["hour", "month"], { description: "What `unitPrice` is for. A month has 730 hours." })),
    amount: money("what the account owes for this line."),
    income: money("what other accounts owe it for its public endpoint."),
  },
  { $id: "UsageLine" },
);
export type ExportLine = Static<typeof ExportLine>;

/** The columns of the CSV form. */
export const exportFields = Object.keys(ExportLine.properties) as (keyof ExportLine)[];

const UsageExport = t.Object(
  {
    startTime: dateTime("The first moment: the start of its hour."),
    endTime: dateTime("The end, which is not part of it."),
    lines: t.Array(ExportLine, { description: "In no order." }),
    lineCount: t.Integer({ minimum: 0 }),
    totals: t.Object(
      { amount: money("all amounts together, which is the bill."), income: money("all income together.") },
      { description: "Over all lines." },
    ),
  },
  { $id: "UsageExport" },
);

export const exportQuery = {
  startTime: t.Optional(dateTime("Moved back to where its hour begins; 30 days ago by default.")),
  endTime: t.Optional(dateTime("Not itself in it. Moved on to where its hour ends; now by default.")),
  format: t.Optional(
    oneOf(["json", "csv"], { default: "json", description: "CSV is as RFC 4180 says, with a first row of names." }),
  ),
};

/** What both exports answer with. */
export const exportTexts = {
  "application/json": UsageExport,
  "text/csv": t.String({ description: "The lines, with the names of their fields in the first row." }),
};
