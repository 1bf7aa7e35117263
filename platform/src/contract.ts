/** All operations gathered: pure data, read by the REST surfaces, the OpenAPI document and the command line. */
import { accountOperations } from "./resources/account/operations.ts";
import { buildOperations } from "./resources/builds/operations.ts";
import { endpointOperations } from "./resources/endpoints/operations.ts";
import { releaseOperations } from "./resources/releases/operations.ts";
import { secretOperations } from "./resources/secrets/operations.ts";
import { workerOperations } from "./resources/workers/operations.ts";

export const operations = {
  ...accountOperations,
  ...secretOperations,
  ...endpointOperations,
  ...workerOperations,
  ...releaseOperations,
  ...buildOperations,
};

/** The first words after `/v2` that mean a resource; anything else there is an endpoint id. */
export const resourceWords = [
  "account",
  "billing",
  "catalog",
  "clusters",
  "network-volumes",
  "openapi.json",
  "pods",
  "registries",
  "serverless",
  "templates",
] as const;
