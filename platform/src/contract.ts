/** All models, operations and lifecycles gathered: pure data, read by the surfaces, the documents, the command line, and in a browser. */
import { balancingOperations } from "./balancing/operations.ts";
import { JobRecord } from "./jobs/model.ts";
import { openAiOperations } from "./jobs/openai-operations.ts";
import { jobOperations } from "./jobs/operations.ts";
import { workerLinkOperations } from "./jobs/worker-link-operations.ts";
import { jobLifecycle } from "./ports/queue/job.ts";
import { ApiKey, SshKeys } from "./resources/account/model.ts";
import { accountOperations } from "./resources/account/operations.ts";
import { AuditEntry } from "./resources/audit/model.ts";
import { auditOperations } from "./resources/audit/operations.ts";
import { BatchRecord, batchLifecycle } from "./resources/batches/model.ts";
import { batchOperations } from "./resources/batches/operations.ts";
import { billingOperations } from "./resources/billing/operations.ts";
import { buildOperations } from "./resources/builds/operations.ts";
import { CpuType, DataCenter, GpuType } from "./resources/catalog/model.ts";
import { catalogOperations } from "./resources/catalog/operations.ts";
import { Cluster, clusterLifecycle } from "./resources/clusters/model.ts";
import { clusterOperations } from "./resources/clusters/operations.ts";
import { Endpoint } from "./resources/endpoints/model.ts";
import { endpointOperations } from "./resources/endpoints/operations.ts";
import { AccountEvent } from "./resources/events/model.ts";
import { eventOperations } from "./resources/events/operations.ts";
import { installationOperations } from "./resources/installation/operations.ts";
import { podInstanceLifecycle, podLifecycle } from "./resources/pods/lifecycle.ts";
import { Pod } from "./resources/pods/model.ts";
import { podOperations } from "./resources/pods/operations.ts";
import { Delegation, Registry } from "./resources/registries/model.ts";
import { registryOperations } from "./resources/registries/operations.ts";
import { Release } from "./resources/releases/model.ts";
import { releaseOperations } from "./resources/releases/operations.ts";
import { S3Key } from "./resources/s3-keys/model.ts";
import { s3KeyOperations } from "./resources/s3-keys/operations.ts";
import { Secret } from "./resources/secrets/model.ts";
import { secretOperations } from "./resources/secrets/operations.ts";
import { spendingOperations } from "./resources/spending/operations.ts";
import { Template } from "./resources/templates/model.ts";
import { templateOperations } from "./resources/templates/operations.ts";
import { terminalOperations } from "./resources/terminals/operations.ts";
import { NetworkVolume } from "./resources/volumes/model.ts";
import { networkVolumeOperations } from "./resources/volumes/operations.ts";
import { Worker, workerLifecycle } from "./resources/workers/model.ts";
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

/** What there is, by the names of lists and events: each with its shapes to create, to change and to read. */
export const models = {
  pods: Pod,
  clusters: Cluster,
  endpoints: Endpoint,
  templates: Template,
  networkVolumes: NetworkVolume,
  registries: Registry,
  registryDelegations: Delegation,
  secrets: Secret,
  apiKeys: ApiKey,
  s3Keys: S3Key,
};

/** Records that are read and never sent. */
export const records = {
  workers: Worker,
  jobs: JobRecord,
  batches: BatchRecord,
  releases: Release,
  events: AccountEvent,
  audit: AuditEntry,
  sshKeys: SshKeys,
  gpuTypes: GpuType,
  cpuTypes: CpuType,
  dataCenters: DataCenter,
};

/** The lives of records: states with their meanings, moves, who may ask for one, and what is allowed in which state. */
export const lifecycles = {
  jobs: jobLifecycle,
  batches: batchLifecycle,
  workers: workerLifecycle,
  pods: podLifecycle,
  podInstances: podInstanceLifecycle,
  clusters: clusterLifecycle,
};
