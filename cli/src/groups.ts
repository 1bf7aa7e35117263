/** Which operations each group of verbs has. Arguments, flags and tables are derived from the operations; this table names and orders them. */
import type { Operation } from "@millrace/platform/kernel/operation.ts";
import type { RawOperation } from "@millrace/platform/kernel/raw-operation.ts";
import type { Command } from "commander";
import type { Shell } from "./shell.ts";

export type AnyOperation = Operation | RawOperation;

export interface DerivedVerb {
  verb: string;
  operation: string;
  /** The words behind the verb in the example of its help. */
  example: string;
  /** Parts of the body that the verb itself says, such as the action. */
  set?: Record<string, unknown>;
  /** What is lost for good: the verb asks before it does this. */
  loses?: string;
  /** The columns of its table, in place of those that are derived from the model. */
  columns?: readonly string[];
  /** What its id names, where that is not what the group is about. */
  of?: string;
}

export interface Group {
  name: string;
  about: string;
  /** What one of its records is called in the help, such as `pod`. */
  one: string;
  operations(): Promise<Record<string, AnyOperation>>;
  verbs: readonly DerivedVerb[];
  /** Verbs of the group that are made by hand. */
  more?(shell: Shell): Promise<readonly Command[]>;
  /** The verb that is meant where a word is none. */
  standard?: string;
}

type Rest = Omit<DerivedVerb, "verb" | "operation" | "example">;
const verb = (name: string, operation: string, example = "", rest: Rest = {}): DerivedVerb => ({
  ...{ verb: name, operation, example },
  ...rest,
});

const POD_COLUMNS = ["id", "name", "status", "gpu.id", "gpu.count", "cpu.id", "cost", "createdAt"];
const AN_ACCOUNT = "$(millrace installation accounts -q --limit 1)";
const FILE_LOSS = "this deletes its contents for good";

export const groups: readonly Group[] = [
  {
    name: "pods",
    about: "Pods: programs that run until they are stopped",
    one: "pod",
    operations: async () => ({
      ...(await import("@millrace/platform/resources/pods/operations.ts")).podOperations,
      ...(await import("@millrace/platform/resources/history/operations.ts")).historyOperations,
    }),
    verbs: [
      verb("list", "listPods", "", { columns: POD_COLUMNS }),
      verb("create", "createPod", "--name box --image host --cpu.id cpu3c --cpu.vcpu-count 2 --ports 8888/http"),
      verb("get", "getPod", "box"),
      verb("update", "updatePod", "box --env LEVEL=debug"),
      verb("stop", "podAction", "box", { set: { action: "stop" } }),
      verb("start", "podAction", "box", { set: { action: "start" } }),
      verb("restart", "podAction", "box", { set: { action: "restart" } }),
      verb("link", "createPodPortLink", "box 8888"),
      verb("metrics", "getPodMetricsHistory", "box --range 1h --json"),
      verb("terminate", "podAction", "box --yes", { set: { action: "terminate" }, loses: FILE_LOSS }),
      verb("delete", "deletePod", "box --yes", { loses: FILE_LOSS }),
    ],
  },
  {
    name: "endpoints",
    about: "serverless endpoints: workers that take jobs from a queue, or requests",
    one: "endpoint",
    operations: async () => ({
      ...(await import("@millrace/platform/resources/endpoints/operations.ts")).endpointOperations,
      ...(await import("@millrace/platform/resources/workers/operations.ts")).workerOperations,
      ...(await import("@millrace/platform/resources/releases/operations.ts")).releaseOperations,
      ...(await import("@millrace/platform/resources/history/operations.ts")).historyOperations,
      ...(await import("@millrace/platform/jobs/operations.ts")).jobOperations,
    }),
    verbs: [
      verb("list", "listEndpoints", "", {
        columns: ["id", "name", "type", "workers.min", "workers.max", "gpu.id", "image", "createdAt"],
      }),
      verb("create", "createEndpoint", "--name echo --image host:/app --cpu id=cpu3c,vcpuCount=2 --workers.max 3"),
      verb("get", "getEndpoint", "echo"),
      verb("update", "updateEndpoint", "echo --workers.max 2"),
      verb("workers", "listEndpointWorkers", "echo"),
      verb("releases", "listEndpointReleases", "echo"),
      verb("health", "getEndpointHealth", "echo --json"),
      verb("health-all", "listEndpointHealth", "--json"),
      verb("metrics", "getEndpointMetricsHistory", "echo --range 1h --json"),
      verb("delete", "deleteEndpoint", "echo --yes", { loses: "this deletes the endpoint with its jobs, for good" }),
    ],
  },
  {
    name: "jobs",
    about: "jobs of an endpoint: list, read, cancel and retry them",
    one: "job",
    operations: async () => (await import("@millrace/platform/jobs/operations.ts")).jobOperations,
    verbs: [
      verb("list", "listJobs", "echo --status FAILED,TIMED_OUT", {
        columns: ["id", "status", "createdAt", "delayTime", "executionTime", "workerId", "waitReason", "error"],
      }),
      verb("details", "getJobDetails", "echo $(millrace jobs list echo -q)"),
      verb("get", "getJob", "echo $(millrace jobs list echo -q)"),
      verb("purge", "purgeQueue", "echo --yes", { loses: "this removes every job that waits, for good" }),
    ],
    more: async (shell) => (await import("./jobs.ts")).jobCommands(shell),
    standard: "list",
  },
  {
    name: "batches",
    about: "batches: many requests to an endpoint, gathered first",
    one: "batch",
    operations: async () => (await import("@millrace/platform/resources/batches/operations.ts")).batchOperations,
    verbs: [
      verb("create", "createBatch", "echo --json-body requests.json"),
      verb("list", "listBatches", "echo"),
      verb("get", "getBatch", "echo $(millrace batches list echo -q)"),
      verb("update", "updateBatch", "echo $(millrace batches list echo -q) --display-name 'night run'"),
      verb("requests", "listBatchRequests", "echo $(millrace batches list echo -q)"),
      verb("add", "addBatchRequests", "echo $(millrace batches list echo -q) --json-body requests.json"),
      verb(
        "remove",
        "removeBatchRequest",
        "echo $(millrace batches list echo -q) $(millrace batches requests echo $(millrace batches list echo -q) -q --limit 1)",
      ),
      verb("finalize", "finalizeBatch", "echo $(millrace batches list echo -q)"),
      verb("cancel", "cancelBatch", "echo $(millrace batches list echo -q)"),
    ],
  },
  {
    name: "clusters",
    about: "clusters: Pods that work together on one network",
    one: "cluster",
    operations: async () => (await import("@millrace/platform/resources/clusters/operations.ts")).clusterOperations,
    verbs: [
      verb("list", "listClusters", "", {
        columns: ["id", "name", "type", "compute.podCount", "compute.gpuTypeId", "dataCenterId", "createdAt"],
      }),
      verb(
        "create",
        "createCluster",
        "--name duo --image host --type APPLICATION --compute.gpu-type-id 'NVIDIA A40' --compute.gpu-count-per-pod 1 --compute.pod-count 2",
      ),
      verb("get", "getCluster", "duo"),
      verb("update", "updateCluster", "duo --name pair"),
      verb("pods", "listClusterPods", "pair", { columns: POD_COLUMNS }),
      verb("delete", "deleteCluster", "pair --yes", { loses: FILE_LOSS }),
    ],
  },
  {
    name: "templates",
    about: "templates: settings that Pods and endpoints are made from",
    one: "template",
    operations: async () => (await import("@millrace/platform/resources/templates/operations.ts")).templateOperations,
    verbs: [
      verb("list", "listTemplates", "", {
        columns: ["id", "name", "image", "disk", "serverless", "public", "category"],
      }),
      verb("create", "createTemplate", "--name base --image busybox:1 --disk 5"),
      verb("get", "getTemplate", "base"),
      verb("update", "updateTemplate", "base --disk 10"),
      verb("delete", "deleteTemplate", "base"),
    ],
  },
  {
    name: "volumes",
    about: "network volumes and their files",
    one: "volume",
    operations: async () =>
      (await import("@millrace/platform/resources/volumes/operations.ts")).networkVolumeOperations,
    verbs: [
      verb("list", "listNetworkVolumes"),
      verb("create", "createNetworkVolume", "--name data --size 10 --data-center EU-RO-1"),
      verb("get", "getNetworkVolume", "data"),
      verb("update", "updateNetworkVolume", "data --size 20"),
      verb("delete", "deleteNetworkVolume", "data --yes", { loses: FILE_LOSS }),
    ],
    more: async (shell) => (await import("./volume-files.ts")).volumeFileCommands(shell),
  },
  {
    name: "registries",
    about: "sign-ins to container registries",
    one: "registry",
    operations: async () => (await import("@millrace/platform/resources/registries/operations.ts")).registryOperations,
    verbs: [
      verb("list", "listRegistries"),
      verb("create", "createRegistry", "--name hub --username-file user.txt --password-file password.txt"),
      verb("get", "getRegistry", "hub"),
      verb("delete", "deleteRegistry", "hub"),
      verb("delegations", "listDelegations"),
      verb("delegate", "createDelegation", "--help"),
      verb("revoke", "revokeDelegation", "--help"),
    ],
  },
  {
    name: "secrets",
    about: "secrets that Pods and endpoints get as variables",
    one: "secret",
    operations: async () => (await import("@millrace/platform/resources/secrets/operations.ts")).secretOperations,
    verbs: [
      verb("list", "listSecrets"),
      verb("create", "createSecret", "--name token --value-file password.txt"),
      verb("get", "getSecret", "token"),
      verb("update", "updateSecret", "token --value-file password.txt"),
      verb("delete", "deleteSecret", "token --yes", { loses: "this deletes the secret's value, for good" }),
    ],
  },
  {
    name: "catalog",
    about: "the GPUs, CPUs, data centers and public templates that can be had",
    one: "id",
    operations: async () => ({
      ...(await import("@millrace/platform/resources/catalog/operations.ts")).catalogOperations,
      ...(await import("@millrace/platform/resources/templates/operations.ts")).templateOperations,
    }),
    verbs: [
      verb("gpus", "listGpuTypes", "", { columns: ["id", "name", "memory", "pool", "secure", "community"] }),
      verb("gpu", "getGpuType", "'NVIDIA A40'"),
      verb("cpus", "listCpuTypes"),
      verb("cpu", "getCpuType", "cpu3c"),
      verb("datacenters", "listDataCenters"),
      verb("datacenter", "getDataCenter", "EU-RO-1"),
      verb("templates", "listPublicTemplates", "--source official"),
    ],
  },
  {
    name: "billing",
    about: "what was spent, in buckets of time",
    one: "id",
    operations: async () => (await import("@millrace/platform/resources/billing/operations.ts")).billingOperations,
    verbs: [
      verb("all", "listBilling", "--bucket-size month"),
      verb("pods", "listPodBilling", "--last-n 7"),
      verb("endpoints", "listServerlessBilling", "--last-n 7"),
      verb("volumes", "listNetworkVolumeBilling", "--last-n 7"),
      verb("clusters", "listClusterBilling", "--last-n 7"),
    ],
    more: async (shell) => [(await import("./billing-export.ts")).billingExport(shell)],
    standard: "all",
  },
  {
    name: "account",
    about: "this account: its limits, its keys for SSH, its log and its events",
    one: "account",
    operations: async () => ({
      ...(await import("@millrace/platform/resources/spending/operations.ts")).spendingOperations,
      ...(await import("@millrace/platform/resources/account/operations.ts")).accountOperations,
      ...(await import("@millrace/platform/resources/audit/operations.ts")).auditOperations,
      ...(await import("@millrace/platform/resources/events/operations.ts")).eventOperations,
      ...(await import("@millrace/platform/resources/history/operations.ts")).historyOperations,
      ...(await import("@millrace/platform/resources/people/operations.ts")).ownOperations,
    }),
    verbs: [
      verb("show", "getAccount"),
      verb("update", "updateAccount", "--spend-limit 100"),
      verb("me", "getMe"),
      verb("audit", "listAuditEntries", "--limit 20"),
      verb("events", "streamAccountEvents", "--help"),
      verb("metrics", "getAccountMetricsHistory", "--range 1h --json"),
      verb("ssh-keys", "getSshKeys"),
      verb("set-ssh-keys", "updateSshKeys", "--json-body keys.json"),
    ],
    standard: "show",
  },
  {
    name: "people",
    about: "people of this account, and invitations",
    one: "person",
    operations: async () => (await import("@millrace/platform/resources/people/operations.ts")).peopleOperations,
    verbs: [
      verb("list", "listPeople"),
      verb("get", "getPerson", "$(millrace people list -q)"),
      verb("update", "updatePerson", "$(millrace people list -q) --name Ada"),
      verb("end-sessions", "endPersonSessions", "$(millrace people list -q)"),
      verb("delete", "deletePerson", "--help", { loses: "this deletes the person" }),
      verb("invite", "createInvitation", "--role member --expires-in-hours 24"),
      verb("invitations", "listInvitations"),
      verb("uninvite", "deleteInvitation", "$(millrace people invitations -q)"),
    ],
  },
  {
    name: "s3-keys",
    about: "keys for the S3 access to network volumes",
    one: "key",
    operations: async () => (await import("@millrace/platform/resources/s3-keys/operations.ts")).s3KeyOperations,
    verbs: [
      verb("list", "listS3Keys"),
      verb("create", "createS3Key", "--name backup"),
      verb("delete", "deleteS3Key", "backup"),
    ],
  },
  {
    name: "public-endpoints",
    about: "endpoints that accounts share with each other under a name",
    one: "name",
    operations: async () =>
      (await import("@millrace/platform/resources/public-endpoints/operations.ts")).publicEndpointOperations,
    verbs: [
      verb("list", "listPublicEndpoints"),
      verb("share", "createPublicEndpoint", "--help"),
      verb("get", "getPublicEndpoint", "a-model"),
      verb("update", "updatePublicEndpoint", "a-model --title 'A model'"),
      verb("use", "getPublicEndpointUse", "a-model --last-n 7"),
      verb("unshare", "deletePublicEndpoint", "a-model --yes", { loses: "this ends the sharing of the endpoint" }),
    ],
  },
  {
    name: "hub",
    about: "listings of endpoints and Pods that are deployed with a few values",
    one: "listing",
    operations: async () => (await import("@millrace/platform/resources/hub/operations.ts")).hubOperations,
    verbs: [
      verb("list", "listHubListings", "--search echo", {
        columns: ["id", "title", "type", "category", "runsOn", "version", "tests", "deploys"],
      }),
      verb("show", "getHubListing", "millrace.echo"),
      verb("deploy", "deployHubListing", "millrace.echo --name mine --workers-max 1"),
      verb("deployments", "listHubDeployments", "", {
        columns: ["id", "title", "type", "test", "testReason", "updateTo", "createdAt"],
      }),
      verb("deployment", "getHubDeployment", "$(millrace hub deployments -q --limit 1)", { of: "deployment" }),
      verb("test", "testHubDeployment", "--help", { of: "deployment" }),
      verb("update", "updateHubDeployment", "--help", { of: "deployment" }),
      verb("sources", "listHubSources", "", { columns: ["kind", "place", "listings", "readAt", "trouble"] }),
    ],
    standard: "list",
  },
  {
    name: "models",
    about: "files of models that workers see read-only; all but 'usable' is for the owner of the installation",
    one: "model",
    operations: async () => (await import("@millrace/platform/resources/models/operations.ts")).modelOperations,
    verbs: [
      verb("list", "listModels", "", {
        columns: ["id", "name", "revision", "status", "statusReason", "size", "files", "createdAt"],
      }),
      verb("add", "createModel", "--name org/name --folder /srv/models/name --everyone"),
      verb("get", "getModel", "$(millrace models -q)"),
      verb("update", "updateModel", "$(millrace models -q) --everyone"),
      verb("delete", "deleteModel", "$(millrace models -q) --yes", {
        loses: "this deletes the files of the model from all machines",
      }),
      verb("usable", "listUsableModels", "", { columns: ["name", "revision", "status", "size", "path"] }),
    ],
    standard: "list",
  },
  {
    name: "installation",
    about: "nodes, machines, accounts and prices; for the owner of the installation",
    one: "id",
    operations: async () => ({
      ...(await import("@millrace/platform/resources/installation/operations.ts")).installationOperations,
      ...(await import("@millrace/platform/resources/administration/operations.ts")).administrationOperations,
    }),
    verbs: [
      verb("nodes", "listInstallationNodes"),
      verb("remove-node", "deleteInstallationNode", "node --yes", {
        loses: "this removes the node and its machine from the list, for a server that never comes back",
      }),
      verb("duties", "listDuties"),
      verb("machines", "listInstallationMachines"),
      verb("instances", "listMachineInstances", "machine"),
      verb("drain", "machineAction", "machine", { set: { action: "drain" } }),
      verb("undrain", "machineAction", "machine", { set: { action: "undrain" } }),
      verb("usage", "getInstallationUsage"),
      verb("accounts", "listInstallationAccounts"),
      verb("create-account", "createInstallationAccount", "--name team --email ada@example.com"),
      verb("account", "getInstallationAccount", AN_ACCOUNT),
      verb("update-account", "updateInstallationAccount", `${AN_ACCOUNT} --quotas.pods 5 --name team-a`),
      verb("suspend-account", "updateInstallationAccount", `${AN_ACCOUNT} --suspended-reason unpaid`, {
        set: { suspended: true },
      }),
      verb("resume-account", "updateInstallationAccount", AN_ACCOUNT, { set: { suspended: false } }),
      verb("credit-account", "creditInstallationAccount", `${AN_ACCOUNT} --amount 25 --reference invoice-7`),
      verb("account-keys", "listInstallationAccountKeys", AN_ACCOUNT),
      verb("create-account-key", "createInstallationAccountKey", `${AN_ACCOUNT} --scopes read-only --name audit`),
      verb(
        "revoke-account-key",
        "deleteInstallationAccountKey",
        "team-a $(millrace installation account-keys team-a -q) --yes",
        {
          loses: "programs that use the key are refused from then on",
        },
      ),
      verb("delete-account", "deleteInstallationAccount", `${AN_ACCOUNT} --yes`, {
        loses: "this deletes the account with everything it has, for good",
      }),
      verb("prices", "listPrices", "--json"),
      verb("set-prices", "setPrices", "--id cpu3c --prices pod=0.02"),
    ],
    more: async (shell) => [(await import("./billing-export.ts")).installationExport(shell)],
  },
];
