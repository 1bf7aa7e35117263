/** What the first view of a page reads. `start.js` asks for it before the console is loaded, and the view is drawn with it at once. */
import type { invokeOperations, operations } from "@millrace/platform/contract.ts";

/** As in `client.ts`, which the build, that reads this table too, cannot load. */
type OperationName = keyof (typeof operations & typeof invokeOperations);

export interface FirstRead {
  name: OperationName;
  /** `$id` stands for the id in the address of the page. */
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  /** Where the list is read page by page: what asks for the first one. */
  firstPage?: "" | { offset: number; limit: number };
  /** Asked when the endpoint is known to have a queue. On a load balancing endpoint the address is the worker's, and a question wakes one. */
  isOfQueue?: true;
}

/** How many endpoints have their health read together: as many as a screen shows. */
export const FIRST_HEALTHS = 25;

/** Jobs of the first page of their list: few, to be there at once. */
export const FIRST_JOBS = 200;

const endpoint: FirstRead = { name: "getEndpoint", params: { id: "$id" } };
const health: FirstRead = { name: "getEndpointHealth", params: { endpoint_id: "$id" }, isOfQueue: true };
const healths: FirstRead = { name: "listEndpointHealth", query: { limit: FIRST_HEALTHS } };
const prices: FirstRead[] = [{ name: "listGpuTypes" }, { name: "listCpuTypes" }];
const list = (name: OperationName): FirstRead[] => [{ name, firstPage: "" }];
const history = (name: OperationName): FirstRead => ({ name, params: { id: "$id" }, query: { range: "1h" } });
const templates = (source: string): FirstRead => ({ name: "listPublicTemplates", query: { source } });

/** What the pages that make something offer: what to start from, GPUs with what is free of them, and names for variables. */
const choices = (product: string): FirstRead[] => [
  { name: "listGpuTypes", query: { include: "AVAILABILITY", product: [product], count: 1 } },
  templates("official"),
  ...list("listTemplates"),
  ...list("listSecrets"),
];

const BILLS = [
  "listBilling",
  "listServerlessBilling",
  "listPodBilling",
  "listNetworkVolumeBilling",
  "listClusterBilling",
  "listEndpointBilling",
] as const;

/** By the address of the page, for views without anything else in their address. */
export const FIRST_READS: Record<string, readonly FirstRead[]> = {
  "/": [
    { name: "getAccount" },
    { name: "listPods" },
    { name: "listEndpoints" },
    healths,
    { name: "getAccountMetricsHistory", query: { range: "1h" } },
    { name: "listBilling", query: { bucketSize: "day", lastN: 1 } },
  ],
  "/serverless": [...list("listEndpoints"), healths, ...prices],
  "/serverless/new": [...choices("SERVERLESS"), templates("verified"), templates("community"), ...prices],
  "/serverless/$id": [endpoint, health, ...prices, history("getEndpointMetricsHistory")],
  "/serverless/$id/workers": [endpoint, health, ...prices, { name: "listEndpointWorkers", params: { id: "$id" } }],
  "/serverless/$id/settings": [endpoint, health, ...prices, ...list("listSecrets")],
  "/serverless/$id/try": [endpoint, health, ...prices],
  "/serverless/$id/jobs": [
    endpoint,
    health,
    ...prices,
    {
      ...{ name: "listJobs", params: { endpoint_id: "$id" }, isOfQueue: true },
      firstPage: { offset: 0, limit: FIRST_JOBS },
    },
  ],
  "/public-endpoints": list("listPublicEndpoints"),
  "/public-endpoints/$id": [{ name: "getPublicEndpoint", params: { id: "$id" } }],
  "/pods": list("listPods"),
  "/pods/new": choices("POD"),
  "/pods/$id": [{ name: "getPod", params: { id: "$id" } }, history("getPodMetricsHistory")],
  "/clusters": list("listClusters"),
  "/clusters/new": choices("CLUSTER"),
  "/templates": list("listTemplates"),
  "/volumes": list("listNetworkVolumes"),
  "/volumes/$id": [{ name: "getNetworkVolume", params: { id: "$id" } }],
  "/registries": list("listRegistries"),
  "/secrets": list("listSecrets"),
  "/billing": [
    { name: "getAccount" },
    ...BILLS.map((name): FirstRead => ({ name, query: { bucketSize: "day", lastN: 30 } })),
    { name: "listEndpoints" },
    { name: "listPods" },
    { name: "listNetworkVolumes" },
    { name: "listClusters" },
  ],
  "/catalog": [{ name: "listGpuTypes", query: { include: "AVAILABILITY", product: ["POD"] } }],
  "/hub": [{ name: "listHubListings" }],
  "/audit": [{ name: "listAuditEntries", query: { limit: 100 }, firstPage: "" }],
  "/machines": list("listInstallationMachines"),
  "/account": [{ name: "listSessions" }],
  "/account/people": [{ name: "listPeople" }, { name: "listInvitations" }],
  "/account/keys": list("listApiKeys"),
  "/account/ssh-keys": [{ name: "getSshKeys" }],
  "/account/s3-keys": list("listS3Keys"),
  "/account/limits": [{ name: "getAccount" }],
  "/installation": [
    { name: "getInstallationUsage" },
    { name: "listInstallationMachines" },
    { name: "listInstallationNodes" },
    { name: "listDuties" },
    { name: "listInstallationAccounts" },
  ],
  "/installation/accounts": list("listInstallationAccounts"),
  "/installation/models": [{ name: "listModels" }],
  "/installation/prices": [{ name: "listPrices" }, { name: "listGpuTypes" }],
  "/installation/duties": [{ name: "listDuties" }],
};
