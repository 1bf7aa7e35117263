/** All operations gathered: pure data, read by the surfaces, the OpenAPI documents and the command line. */
import { balancingOperations } from "./balancing/operations.ts";
import { openAiOperations } from "./jobs/openai-operations.ts";
import { jobOperations } from "./jobs/operations.ts";
import { workerLinkOperations } from "./jobs/worker-link-operations.ts";
import { accountOperations } from "./resources/account/operations.ts";
import { auditOperations } from "./resources/audit/operations.ts";
import { batchOperations } from "./resources/batches/operations.ts";
import { billingOperations } from "./resources/billing/operations.ts";
import { buildOperations } from "./resources/builds/operations.ts";
import { catalogOperations } from "./resources/catalog/operations.ts";
import { clusterOperations } from "./resources/clusters/operations.ts";
import { endpointOperations } from "./resources/endpoints/operations.ts";
import { eventOperations } from "./resources/events/operations.ts";
import { installationOperations } from "./resources/installation/operations.ts";
import { podOperations } from "./resources/pods/operations.ts";
import { registryOperations } from "./resources/registries/operations.ts";
import { releaseOperations } from "./resources/releases/operations.ts";
import { s3KeyOperations } from "./resources/s3-keys/operations.ts";
import { secretOperations } from "./resources/secrets/operations.ts";
import { spendingOperations } from "./resources/spending/operations.ts";
import { templateOperations } from "./resources/templates/operations.ts";
import { terminalOperations } from "./resources/terminals/operations.ts";
import { networkVolumeOperations } from "./resources/volumes/operations.ts";
import { workerOperations } from "./resources/workers/operations.ts";

export const operations = {
  ...accountOperations,
  ...spendingOperations,
  ...auditOperations,
  ...eventOperations,
  ...secretOperations,
  ...podOperations,
  ...clusterOperations,
  ...endpointOperations,
  ...workerOperations,
  ...terminalOperations,
  ...releaseOperations,
  ...buildOperations,
  ...registryOperations,
  ...catalogOperations,
  ...templateOperations,
  ...networkVolumeOperations,
  ...s3KeyOperations,
  ...billingOperations,
  ...installationOperations,
};

/** What callers ask an endpoint with a queue for. */
export const invokeOperations = { ...jobOperations, ...openAiOperations, ...batchOperations };

/** Everything below `/v2/{endpoint_id}`, whose requests the surfaces read themselves. */
export const endpointCalls = { ...invokeOperations, ...balancingOperations, ...workerLinkOperations };

/** The first words after `/v2` that mean a resource; anything else there is an endpoint id. */
export const resourceWords = [
  "account",
  "billing",
  "catalog",
  "clusters",
  "installation",
  "network-volumes",
  "openapi-invoke.json",
  "openapi.json",
  "pods",
  "registries",
  "serverless",
  "templates",
  "terminals",
] as const;
