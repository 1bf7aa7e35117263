/** Operations on billing: histories, read from what was metered. */
import type { Operations } from "../../kernel/operation.ts";
import { name, type TObject, type TSchema, t } from "../../kernel/schema.ts";
import {
  BillingHistory,
  bucketWindow,
  ClusterBilling,
  EndpointBilling,
  exportQuery,
  exportTexts,
  NetworkVolumeBilling,
  PodBilling,
  ServerlessBilling,
} from "./model.ts";

const only = (what: string) => t.Optional(name({ description: `Only of this ${what}, be it deleted since.` }));

const described =
  "Usage in buckets of time. What runs now counts until now, and buckets without cost are left out. Amounts of any buckets add up to those of larger ones.";

const lookup = <Q extends TObject, Out extends TSchema>(path: string, query: Q, out: Out) =>
  ({
    method: "GET",
    path,
    query,
    out,
    description: described,
    tag: "Billing",
    status: 200,
    scope: "billing:read",
    narrowed: "refused",
    refuses: ["rule-broken"],
  }) as const;

export const billingOperations = {
  listBilling: {
    ...lookup("/v2/billing", t.Object(bucketWindow), BillingHistory),
    summary: "List what everything cost",
  },
  listPodBilling: {
    ...lookup("/v2/billing/pods", t.Object({ ...bucketWindow, podId: only("Pod") }), PodBilling),
    summary: "List what Pods cost",
  },
  listServerlessBilling: {
    ...lookup(
      "/v2/billing/serverless",
      t.Object({ ...bucketWindow, serverlessId: only("endpoint") }),
      ServerlessBilling,
    ),
    summary: "List what serverless endpoints cost",
  },
  listEndpointBilling: {
    ...lookup(
      "/v2/billing/endpoints",
      t.Object({ ...bucketWindow, publicEndpoint: only("public endpoint") }),
      EndpointBilling,
    ),
    summary: "List what public endpoints cost",
    description: `What the account owes for public endpoints of others, counted when each job ends. ${described}`,
  },
  listNetworkVolumeBilling: {
    ...lookup(
      "/v2/billing/network-volumes",
      t.Object({ ...bucketWindow, networkVolumeId: only("network volume") }),
      NetworkVolumeBilling,
    ),
    summary: "List what network volumes cost",
  },
  listClusterBilling: {
    ...lookup("/v2/billing/clusters", t.Object({ ...bucketWindow, clusterId: only("cluster") }), ClusterBilling),
    summary: "List what clusters cost",
  },
  exportBilling: {
    method: "GET",
    path: "/v2/billing/export",
    query: t.Object(exportQuery),
    texts: exportTexts,
    summary: "Export usage for invoices",
    description:
      "Everything that was charged, a line for each span of time and each part, with exact amounts. Their sum is the bill.",
    tag: "Billing",
    status: 200,
    scope: "billing:read",
    narrowed: "refused",
    refuses: ["rule-broken"],
  },
} satisfies Operations;
