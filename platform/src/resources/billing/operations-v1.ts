/** Operations on billing in REST v1: bare lists of what each bucket of time cost. */
import { bucketSizes } from "../../kernel/calendar.ts";
import type { Operations } from "../../kernel/operation.ts";
import { dateTime, name, oneOf, type TObject, type TProperties, t } from "../../kernel/schema.ts";

const MOST_NAMED = 100;

const window = {
  startTime: t.Optional(dateTime("Moved back to where its bucket begins; 30 days ago by default.")),
  endTime: t.Optional(dateTime("Not itself in it; now by default.")),
  bucketSize: t.Optional(oneOf(bucketSizes, { default: "day", description: "In UTC; a week begins on Monday." })),
};

const only = (what: string) => t.Optional(name({ description: `Only of this ${what}, be it deleted since.` }));
const anyOf = (what: string) =>
  t.Optional(t.Array(name(), { maxItems: MOST_NAMED, description: `Only of these ${what}.` }));
const grouping = <const V extends readonly string[]>(values: V, standard: V[number]) =>
  t.Optional(oneOf(values, { default: standard, description: "A record in each bucket for each of these." }));

const usd = t.Number({ description: "USD." });
const gb = t.Integer({ minimum: 0, description: "The most that was stored." });
const time = dateTime("When the bucket begins.");

const record = (id: string, ids: readonly string[]) =>
  t.Object(
    {
      time,
      amount: usd,
      timeBilledMs: t.Integer({ minimum: 0, description: "All that ran, one after the other." }),
      diskSpaceBilledGb: gb,
      diskSpaceBilledGB: t.Integer({ minimum: 0, description: "The same." }),
      ...(Object.fromEntries(ids.map((name) => [name, t.Optional(t.String())])) as TProperties),
    },
    { $id: id },
  );

const volumeRecord = t.Object(
  {
    ...{ time, amount: usd, diskSpaceBilledGb: gb },
    ...{ highPerformanceStorageAmount: usd, highPerformanceStorageDiskSpaceBilledGb: gb },
  },
  { $id: "NetworkVolumeBillingRecord" },
);

const lookup = <Q extends TObject>(what: string, query: Q) =>
  ({
    method: "GET",
    path: `/v1/billing/${what}`,
    query,
    description: "Usage in buckets of time, the oldest first. Buckets without cost are left out.",
    tag: "Billing",
    status: 200,
    scope: "billing:read",
    narrowed: "refused",
    refuses: ["rule-broken"],
  }) as const;

export const billingOperationsV1 = {
  podBilling: {
    ...lookup(
      "pods",
      t.Object({
        ...window,
        grouping: grouping(["podId", "gpuTypeId"], "gpuTypeId"),
        podId: only("Pod"),
        gpuTypeId: anyOf("GPU types"),
      }),
    ),
    summary: "List what Pods cost",
    out: t.Array(record("PodBillingRecord", ["podId", "gpuTypeId"])),
  },
  endpointBilling: {
    ...lookup(
      "endpoints",
      t.Object({
        ...window,
        grouping: grouping(["endpointId", "podId", "gpuTypeId"], "endpointId"),
        endpointId: only("endpoint"),
        gpuTypeId: anyOf("GPU types"),
        dataCenterId: anyOf("data centers"),
        imageName: t.Optional(t.String({ maxLength: 8192, description: "Only of workers with this image." })),
        templateId: only("template"),
      }),
    ),
    summary: "List what endpoints cost",
    out: t.Array(record("EndpointBillingRecord", ["endpointId", "podId", "gpuTypeId"])),
  },
  networkVolumeBilling: {
    ...lookup("networkvolumes", t.Object(window)),
    summary: "List what network volumes cost",
    out: t.Array(volumeRecord),
  },
} satisfies Operations;
