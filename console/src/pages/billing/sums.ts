/** Sums of bills. Amounts are added as whole numbers of 1e-9 USD, so that no sum differs from what the API says. */
import type { Answer } from "../../api/client.ts";

export type History = Answer<"listBilling">;
export type BillingRecord = History["records"][number];

/** What people pay for, and which amounts of a bucket belong to it. */
export const KINDS = {
  serverless: {
    title: "Serverless",
    amounts: ["serverlessGpuAmount", "serverlessCpuAmount", "serverlessDiskAmount", "serverlessFeeAmount"],
  },
  pods: { title: "Pods", amounts: ["podGpuAmount", "podCpuAmount", "podDiskAmount"] },
  volumes: { title: "Network volumes", amounts: ["storageStandardAmount", "storageHighPerformanceAmount"] },
  shared: { title: "Public endpoints", amounts: ["endpointAmount"] },
  clusters: { title: "Clusters", amounts: ["clusterGpuAmount", "clusterDiskAmount", "clusterNetworkingAmount"] },
} as const;
export type Kind = keyof typeof KINDS;
export const kinds = Object.keys(KINDS) as Kind[];

const NANO = 1e9;
const nanoOf = (usd: number): number => Math.round(usd * NANO);
export const usdOf = (nano: number): number => nano / NANO;

/** Every digit that the API gave, and at least cents: `0.000123456`, `12.50`. */
export function exactText(usd: number): string {
  const [whole, fraction = ""] = usd.toFixed(9).split(".");
  return `$${whole}.${fraction.replace(/0+$/, "").padEnd(2, "0")}`;
}

/** In 1e-9 USD. What no kind has a name for is counted to none, and shows in the total. */
export function kindSum(amounts: object, kind: Kind): number {
  const values = amounts as Record<string, number | undefined>;
  return KINDS[kind].amounts.reduce((sum, name) => sum + nanoOf(values[name] ?? 0), 0);
}

const HOUR = 3_600_000;
const LENGTHS: Record<string, number> = { hour: HOUR, day: 24 * HOUR, week: 7 * 24 * HOUR };

/** Where the buckets of the window begin, those that cost nothing included. */
export function bucketStarts({ startTime, endTime, bucketSize }: History["metadata"]["query"]): number[] {
  const starts: number[] = [];
  const end = Date.parse(endTime);
  for (let at = Date.parse(startTime); at < end && starts.length < 10_000; at = nextBucket(at, bucketSize))
    starts.push(at);
  return starts;
}

function nextBucket(at: number, size: string): number {
  const length = LENGTHS[size];
  if (length !== undefined) return at + length;
  const date = new Date(at);
  return size === "month"
    ? Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
    : Date.UTC(date.getUTCFullYear() + 1, 0);
}

export interface Stack {
  kind: Kind;
  /** USD of each bucket. */
  own: number[];
  /** With all that stands below it; null where nothing is to be drawn. */
  top: (number | null)[];
}

/** Bars upon each other, the lowest first. */
export function stacked(history: History): { starts: number[]; stacks: Stack[] } {
  const starts = bucketStarts(history.metadata.query);
  const records = new Map(history.records.map((record) => [Date.parse(record.startTime), record]));
  const below = starts.map(() => 0);
  const stacks = kinds.map((kind) => {
    const own = starts.map((start) => kindSum(records.get(start) ?? {}, kind));
    const top = own.map((nano, index) => {
      below[index] = below[index]! + nano;
      return nano === 0 ? null : usdOf(below[index]!);
    });
    return { kind, own: own.map(usdOf), top };
  });
  return { starts, stacks };
}

/** What each resource cost over all buckets, the dearest first. */
export function costsById(records: readonly { totalAmount: number }[], idField: string): { id: string; usd: number }[] {
  const sums = new Map<string, number>();
  for (const record of records) {
    const id = (record as unknown as Record<string, string>)[idField]!;
    sums.set(id, (sums.get(id) ?? 0) + nanoOf(record.totalAmount));
  }
  return [...sums].map(([id, nano]) => ({ id, usd: usdOf(nano) })).toSorted((one, other) => other.usd - one.usd);
}
