/** All models, operations and lifecycles together: pure data for the surfaces, the documents, the command line and a browser. */
import { balancingOperations } from "./balancing/operations.ts";
import { JobRecord } from "./jobs/model.ts";
import { openAiOperations } from "./jobs/openai-operations.ts";
import { jobOperations } from "./jobs/operations.ts";
import { workerLinkOperations } from "./jobs/worker-link-operations.ts";
import { reasonTables } from "./kernel/reason.ts";
import type { Entry } from "./kernel/reasons/entry.ts";

export { resourceWords } from "./kernel/resource-words.ts";

import { jobLifecycle } from "./ports/queue/job.ts";
import { ApiKey, SshKeys } from "./resources/account/model.ts";
import { accountOperations } from "./resources/account/operations.ts";
import { administrationOperations } from "./resources/administration/operations.ts";
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
import { historyOperations } from "./resources/history/operations.ts";
import { HubDeployment, HubListing, HubSource, hubTestLifecycle } from "./resources/hub/model.ts";
import { hubOperations } from "./resources/hub/operations.ts";
import { installationOperations } from "./resources/installation/operations.ts";
import { copyLifecycle, Model, modelLifecycle, UsableModel } from "./resources/models/model.ts";
import { modelOperations } from "./resources/models/operations.ts";
import { Invitation, Me, Person, Session } from "./resources/people/model.ts";
import { ownOperations, peopleOperations, signInOperations } from "./resources/people/operations.ts";
import { podInstanceLifecycle, podLifecycle } from "./resources/pods/lifecycle.ts";
import { Pod } from "./resources/pods/model.ts";
import { podOperations } from "./resources/pods/operations.ts";
import { PublicEndpoint } from "./resources/public-endpoints/model.ts";
import { publicEndpointOperations } from "./resources/public-endpoints/operations.ts";
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
import { VolumeFile } from "./resources/volume-files/model.ts";
import { volumeFileOperations } from "./resources/volume-files/operations.ts";
import { NetworkVolume } from "./resources/volumes/model.ts";
import { networkVolumeOperations } from "./resources/volumes/operations.ts";
import { Worker, workerLifecycle } from "./resources/workers/model.ts";
import { workerOperations } from "./resources/workers/operations.ts";

export const operations = {
  ...accountOperations,
  ...peopleOperations,
  ...ownOperations,
  ...signInOperations,
  ...spendingOperations,
  ...auditOperations,
  ...eventOperations,
  ...secretOperations,
  ...podOperations,
  ...clusterOperations,
  ...endpointOperations,
  ...publicEndpointOperations,
  ...hubOperations,
  ...modelOperations,
  ...workerOperations,
  ...terminalOperations,
  ...releaseOperations,
  ...buildOperations,
  ...registryOperations,
  ...catalogOperations,
  ...templateOperations,
  ...networkVolumeOperations,
  ...volumeFileOperations,
  ...s3KeyOperations,
  ...billingOperations,
  ...historyOperations,
  ...installationOperations,
  ...administrationOperations,
};

/** The operations for callers of a queue-based endpoint. */
export const invokeOperations = { ...jobOperations, ...openAiOperations, ...batchOperations };

/** All operations below `/v2/{endpoint_id}`. The surfaces read these requests themselves. */
export const endpointCalls = { ...invokeOperations, ...balancingOperations, ...workerLinkOperations };

/** The resources, by the names of lists and events, each with its shapes to create, change and read. */
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
  people: Person,
  invitations: Invitation,
  s3Keys: S3Key,
  publicEndpoints: PublicEndpoint,
  models: Model,
};

/** Records that clients only read. */
export const records = {
  workers: Worker,
  jobs: JobRecord,
  batches: BatchRecord,
  releases: Release,
  volumeFiles: VolumeFile,
  events: AccountEvent,
  audit: AuditEntry,
  sshKeys: SshKeys,
  sessions: Session,
  me: Me,
  gpuTypes: GpuType,
  cpuTypes: CpuType,
  dataCenters: DataCenter,
  hubListings: HubListing,
  hubDeployments: HubDeployment,
  hubSources: HubSource,
  usableModels: UsableModel,
};

/** The lifecycles of records: states with their meanings, moves, who may ask for them, and what each state allows. */
export const lifecycles = {
  jobs: jobLifecycle,
  batches: batchLifecycle,
  workers: workerLifecycle,
  pods: podLifecycle,
  podInstances: podInstanceLifecycle,
  clusters: clusterLifecycle,
  hubTests: hubTestLifecycle,
  models: modelLifecycle,
  modelCopies: copyLifecycle,
};

/** What each reason code means, and what its reader can do about it. */
export const reasons: Readonly<Record<string, Pick<Entry, "means" | "remedy">>> = Object.assign(
  {},
  ...Object.values(reasonTables),
);
