/** The one list of everything that is removed with an account, a cluster or an endpoint, in order. Servers and commands share it. */
import type { Logs } from "../ports/logs/logs.ts";
import type { BatchRecords } from "./batches/records.ts";
import type { EndpointService } from "./endpoints/service.ts";
import type { WorkerKeys } from "./endpoints/worker-keys.ts";
import { keyOf } from "./history/model.ts";
import type { SeriesRecords } from "./history/records.ts";
import type { HubRecords } from "./hub/records.ts";
import type { PodService } from "./pods/service.ts";
import type { PublicEndpointRecords } from "./public-endpoints/records.ts";
import type { ReleaseRecords } from "./releases/records.ts";
import type { Remover } from "./removals.ts";
import type { TerminalTickets } from "./terminals/tickets.ts";
import type { NetworkVolumeService } from "./volumes/service.ts";
import { workerLogsOf } from "./workers/model.ts";

/** Something that stores data of endpoints. */
interface KeepsOfEndpoints {
  removeEndpoint(id: string): Promise<void>;
}

export interface EndpointRemains {
  /** Absent where no workers are kept. Workers on other nodes' machines end as soon as their node sees that the endpoint is gone. */
  workers?: KeepsOfEndpoints | undefined;
  jobs: KeepsOfEndpoints;
  logs: Pick<Logs, "remove">;
  batchRecords: BatchRecords;
  workerKeys: WorkerKeys;
  terminalTickets: TerminalTickets;
  releaseRecords: ReleaseRecords;
  seriesRecords: SeriesRecords;
  publicEndpointRecords: PublicEndpointRecords;
  hubRecords: HubRecords;
}

export function endpointRemovers(parts: EndpointRemains): Remover[] {
  const { workers, jobs, logs, batchRecords, workerKeys, terminalTickets, releaseRecords, seriesRecords } = parts;
  const { publicEndpointRecords, hubRecords } = parts;
  return [
    // The name goes first, so that nobody calls it any more.
    { what: "public endpoint", kinds: ["public-endpoint"], remove: (id) => publicEndpointRecords.removeEndpoint(id) },
    // Tests go before jobs, so that none begins another one.
    { what: "deployment", kinds: ["hub-deployment"], remove: (id) => hubRecords.removeEndpoint(id) },
    { what: "workers", kinds: ["instance"], remove: async (id) => workers?.removeEndpoint(id) },
    // Batches go before jobs, so that none of their requests can become a job afterwards.
    {
      what: "batches",
      kinds: ["batch", "batch-page", "batch-text", "batch-run"],
      remove: (id) => batchRecords.removeEndpoint(id),
    },
    { what: "jobs", kinds: [], remove: (id) => jobs.removeEndpoint(id) },
    { what: "worker keys", kinds: ["worker-key"], remove: (id) => workerKeys.removeEndpoint(id) },
    { what: "terminal tickets", kinds: ["terminal-ticket"], remove: (id) => terminalTickets.removeOf(id) },
    { what: "logs", kinds: [], remove: (id) => logs.remove(workerLogsOf(id)) },
    { what: "releases", kinds: ["release"], remove: (id) => releaseRecords.removeEndpoint(id) },
    {
      what: "series of metrics",
      kinds: ["metrics-series"],
      remove: (id) => seriesRecords.remove(keyOf({ kind: "endpoint", id })),
    },
  ];
}

export const clusterRemovers = (pods: PodService): Remover[] => [
  { what: "members", kinds: ["pod"], remove: (id) => pods.removeMembers(id) },
];

/** The kinds of records that stay when their owner is removed, each with the reason. */
export const staying: Record<string, string> = { span: "what was used is paid for, whatever became of it" };

/** The store removes all records of the account. These remove what the records leave elsewhere. */
export function accountRemovers(parts: {
  endpoints: EndpointService;
  pods: PodService;
  volumes: NetworkVolumeService;
}): Remover[] {
  const { endpoints, pods, volumes } = parts;
  return [
    { what: "endpoints", kinds: ["endpoint"], remove: (account) => endpoints.removeAccount(account) },
    { what: "Pods", kinds: ["pod"], remove: (account) => pods.removeAccount(account) },
    { what: "network volumes", kinds: ["network-volume"], remove: (account) => volumes.removeAccount(account) },
  ];
}
