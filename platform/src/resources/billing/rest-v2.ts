/** Answers the REST v2 operations on billing histories. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { inSlices } from "../../kernel/slices.ts";
import type { BillingExport } from "./export.ts";
import type { billingOperations } from "./operations.ts";
import type { Amounts, BillingService, Charge, History, HistoryRecord } from "./service.ts";

type Operations = typeof billingOperations;

/** The charges that make up each amount of a history. The list is empty for an amount that is never charged here. */
type Shown<Name extends string> = Record<Name, readonly Charge[]>;

const pods = { gpuAmount: ["pod gpu"], cpuAmount: ["pod cpu"], diskAmount: ["pod disk"] } as const;
const workers = { gpuAmount: ["worker gpu"], cpuAmount: ["worker cpu"], diskAmount: ["worker disk"] } as const;
const volumes = { standardAmount: ["volume STANDARD"], highPerformanceAmount: ["volume HIGH_PERFORMANCE"] } as const;
/** Members have GPUs. If one were ever charged for CPU, it would count as part of the GPU amount, so that nothing is lost. */
const members = { gpuAmount: ["member gpu", "member cpu"], diskAmount: ["member disk"] } as const;

const everything = {
  podGpuAmount: pods.gpuAmount,
  podCpuAmount: pods.cpuAmount,
  podDiskAmount: pods.diskAmount,
  serverlessGpuAmount: workers.gpuAmount,
  serverlessCpuAmount: workers.cpuAmount,
  serverlessDiskAmount: workers.diskAmount,
  serverlessFeeAmount: [],
  storageStandardAmount: volumes.standardAmount,
  storageHighPerformanceAmount: volumes.highPerformanceAmount,
  endpointAmount: ["endpoint"],
  clusterGpuAmount: members.gpuAmount,
  clusterDiskAmount: members.diskAmount,
  clusterNetworkingAmount: [],
} as const;

export function billingHandlers(billing: BillingService, exports: BillingExport): Handlers<Operations> {
  return {
    exportBilling: ({ caller, query }) => exports.of(caller.account, query),
    async listBilling({ caller, query }) {
      const history = await billing.history(caller, { ...query });
      return shown(history, everything, () => ({}), {});
    },
    async listPodBilling({ caller, query: { podId, ...window } }) {
      const history = await billing.history(caller, { ...window, kind: "pod", owner: podId, by: "owner" });
      const answer = await shown(history, pods, (id) => ({ podId: id }), podId === undefined ? {} : { podId });
      return withCount(answer, "uniquePodCount", history);
    },
    async listServerlessBilling({ caller, query: { serverlessId, ...window } }) {
      const history = await billing.history(caller, { ...window, kind: "worker", owner: serverlessId, by: "owner" });
      const asked = serverlessId === undefined ? {} : { serverlessId };
      const answer = await shown(history, { ...workers, feeAmount: [] }, (id) => ({ serverlessId: id }), asked);
      return withCount(answer, "uniqueServerlessCount", history);
    },
    async listEndpointBilling({ caller, query: { publicEndpoint, ...window } }) {
      const history = await billing.history(caller, { ...window, kind: "endpoint", owner: publicEndpoint });
      const asked = publicEndpoint === undefined ? {} : { publicEndpoint };
      const answer = await shown(history, { amount: ["endpoint"] }, () => ({}), asked);
      const { records, metadata } = answer;
      // The sum is all that this history shows.
      return {
        records: records.map(({ amount: _, ...record }) => record),
        metadata: { ...metadata, totals: { totalAmount: metadata.totals.totalAmount } },
      };
    },
    async listNetworkVolumeBilling({ caller, query: { networkVolumeId, ...window } }) {
      const asked = { ...window, kind: "volume", owner: networkVolumeId, by: "owner" } as const;
      const history = await billing.history(caller, asked);
      const filter = networkVolumeId === undefined ? {} : { networkVolumeId };
      const answer = await shown(history, volumes, (id) => ({ networkVolumeId: id }), filter);
      return withCount(answer, "uniqueNetworkVolumeCount", history);
    },
    async listClusterBilling({ caller, query: { clusterId, ...window } }) {
      const history = await billing.history(caller, { ...window, kind: "member", owner: clusterId, by: "owner" });
      const asked = clusterId === undefined ? {} : { clusterId };
      const answer = await shown(history, { ...members, networkingAmount: [] }, (id) => ({ clusterId: id }), asked);
      return withCount(answer, "uniqueClusterCount", history);
    },
  };
}

async function shown<Name extends string, Id extends object, Filter extends object>(
  { buckets, records }: History,
  amounts: Shown<Name>,
  idOf: (owner: string) => Id,
  filter: Filter,
) {
  const { from, to, size: bucketSize } = buckets;
  const said: (Id & ReturnType<typeof timesOf> & ReturnType<typeof inUsd<Name>>)[] = [];
  await inSlices(records, RECORDS_AT_A_STRETCH, async (record) => {
    said.push({ ...idOf(record.owner ?? ""), ...timesOf(record), ...inUsd(amounts, record.amounts) });
  });
  return {
    records: said,
    metadata: {
      query: { ...timesOf({ from, to }), bucketSize, ...filter },
      recordCount: records.length,
      totals: inUsd(amounts, sumOf(records)),
    },
  };
}

/** Other requests get a turn after this many records. */
const RECORDS_AT_A_STRETCH = 2000;

const timesOf = ({ from, to }: { from: number; to: number }) => ({
  startTime: timestamp(from),
  endTime: timestamp(to),
});

function withCount<A extends { metadata: object }, Count extends string>(
  answer: A,
  count: Count,
  { records }: History,
) {
  const counted = { [count]: new Set(records.map(({ owner }) => owner)).size } as { [K in Count]: number };
  return { ...answer, metadata: { ...answer.metadata, ...counted } as A["metadata"] & { [K in Count]: number } };
}

function sumOf(records: readonly HistoryRecord[]): Amounts {
  const sums: Amounts = new Map();
  for (const { amounts } of records)
    for (const [charge, amount] of amounts) sums.set(charge, (sums.get(charge) ?? 0n) + amount);
  return sums;
}

function inUsd<Name extends string>(amounts: Shown<Name>, found: Amounts) {
  const nano = Object.entries<readonly Charge[]>(amounts).map(([name, charges]) => {
    return [name, charges.reduce((sum, charge) => sum + (found.get(charge) ?? 0n), 0n)] as const;
  });
  const total = nano.reduce((sum, [, amount]) => sum + amount, 0n);
  const parts = Object.fromEntries(nano.map(([name, amount]) => [name, usd(amount)])) as Record<Name, number>;
  return { totalAmount: usd(total), ...parts };
}

/** Up to a million USD every digit survives, within the precision of JSON numbers. */
export const usd = (nano: bigint): number => Number(nano) / 1e9;
