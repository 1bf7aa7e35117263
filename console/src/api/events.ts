/** The account's event stream: folds what changed into the cache, so that every open list and page is live. */
import type { AccountEvent, StreamedResource } from "@millrace/platform/resources/events/model.ts";
import type { QueryClient } from "@tanstack/react-query";
import type { OperationName } from "./client.ts";
import { type Connection, follow } from "./follow.ts";

/** Which reads show a resource. Lists first, then the single record. */
const READS: Record<StreamedResource, readonly OperationName[]> = {
  // A cluster counts the statuses of its members.
  pods: ["listPods", "getPod", "listClusterPods", "listClusters", "getCluster"],
  clusters: ["listClusters", "getCluster"],
  serverless: ["listEndpoints", "getEndpoint", "listEndpointReleases"],
  workers: ["listEndpointWorkers", "listEndpointReleases", "getEndpointHealth"],
  templates: ["listTemplates", "getTemplate"],
  "network-volumes": ["listNetworkVolumes", "getNetworkVolume"],
  "s3-keys": ["listS3Keys"],
  registries: ["listRegistries"],
  secrets: ["listSecrets", "getSecret"],
  "api-keys": ["listApiKeys"],
  "ssh-keys": ["getSshKeys"],
};
const OF_JOBS: readonly OperationName[] = ["getEndpointHealth", "listJobs", "getJob", "getJobDetails"];

/** A read that changes all the time is asked for again once in this time, not once for each event. */
const SETTLE_MS = 1000;

interface Record_ {
  id?: string;
  status?: string;
}

/** Follows the stream while the page is looked at. Returns what ends it. */
export function followEvents(cache: QueryClient, tell: (connection: Connection) => void): () => void {
  const changes = new Changes(cache);
  let following: AbortController | undefined;
  const look = () => {
    if (document.hidden) following?.abort();
    else if (!following || following.signal.aborted) {
      following = new AbortController();
      void follow("/v2/account/events", {
        signal: following.signal,
        onEvent: (event) => changes.take(event as AccountEvent),
        onConnection: tell,
      });
    }
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    following?.abort();
    changes.stop();
  };
}

/** Gathers what became old, and reads it again once in a while. */
class Changes {
  readonly #cache: QueryClient;
  readonly #old = new Map<string, { name: OperationName; id: string | undefined }>();
  #settling: ReturnType<typeof setTimeout> | undefined;

  constructor(cache: QueryClient) {
    this.#cache = cache;
  }

  take(event: AccountEvent): void {
    if (event.type === "reset") {
      void this.#cache.invalidateQueries();
      return;
    }
    if (event.type === "jobs") this.#mark(OF_JOBS, event.endpointId);
    if (event.resource === undefined) return;
    fold(this.#cache, event);
    this.#mark(READS[event.resource], event.resource === "workers" ? event.endpointId : undefined);
  }

  stop(): void {
    clearTimeout(this.#settling);
  }

  #mark(names: readonly OperationName[], id?: string): void {
    for (const name of names) this.#old.set(`${name} ${id ?? ""}`, { name, id });
    this.#settling ??= setTimeout(() => this.#settle(), SETTLE_MS);
  }

  #settle(): void {
    this.#settling = undefined;
    for (const { name, id } of this.#old.values()) {
      void this.#cache.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] === name && concerns(queryKey[1], id),
      });
    }
    this.#old.clear();
  }
}

/** Whether a read with this question is about the record or the endpoint. */
function concerns(ask: unknown, id: string | undefined): boolean {
  if (id === undefined) return true;
  const { params } = (ask ?? {}) as { params?: Record<string, string> };
  return params === undefined || Object.values(params).includes(id);
}

/** Shows a new status at once; the rest of the record follows when it is read again. */
function fold(cache: QueryClient, { type, resource, id, status, reasonCode }: AccountEvent): void {
  // A worker's state by its lifecycle is another word than the one its list shows, such as `READY` for `IDLE` and `RUNNING`.
  const isShown = status !== undefined && resource !== "workers";
  const change = <R extends Record_>(record: R): R =>
    record.id === id && isShown ? { ...record, status, statusReasonCode: reasonCode ?? null } : record;
  for (const name of READS[resource!]) {
    cache.setQueriesData({ queryKey: [name] }, (known: unknown) => {
      if (typeof known !== "object" || known === null) return known;
      if ((known as Record_).id !== undefined) return change(known as Record_);
      return Object.fromEntries(
        Object.entries(known).map(([key, value]) => {
          if (!Array.isArray(value)) return [key, value];
          const rows = type === "removed" ? value.filter((row: Record_) => row.id !== id) : value;
          return [key, rows.map(change)];
        }),
      );
    });
  }
}
