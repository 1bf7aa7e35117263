/** The first words after `/v2` that name a resource. Anything else there is an endpoint. */
export const resourceWords = [
  "account",
  "billing",
  "catalog",
  "clusters",
  "hub",
  "installation",
  "network-volumes",
  "openapi-invoke.json",
  "openapi.json",
  "pods",
  "public-endpoints",
  "registries",
  "serverless",
  "templates",
  "terminals",
] as const;
