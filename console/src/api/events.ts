/** The account's event stream: folds what changed into the cache, so that every open list and page is live. */
import type { AccountEvent, StreamedResource } from "@millrace/platform/resources/events/model.ts";
import type { QueryClient } from "@tanstack/react-query";
import type { OperationName } from "./client.ts";
import { hasEarly } from "./early.ts";
import { type Connection, follow } from "./follow.ts";
import { keyOf } from "./queries.ts";

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
  "public-endpoints": ["listPublicEndpoints", "getPublicEndpoint"],
  registries: ["listRegistries"],
  secrets: ["listSecrets", "getSecret"],
  "api-keys": ["listApiKeys"],
  "ssh-keys": ["getSshKeys"],
};
const OF_JOBS: readonly OperationName[] = ["getEndpointHealth", "listJobs", "getJob", "getJobDetails"];

/** Events of this time are folded together, so that a flood of them draws a page ten times a second and not a thousand times. */
const FOLD_MS = 100;
/** What became old is read again at once after a calm time. Each round that follows waits twice as long, up to a second, however many events come. */
const SETTLE_FIRST_MS = 250;
const SETTLE_MS = 1000;
/** Where more than two reads became old, each adds to the time until the next round: a page asks about twice a second, well within the rate limit of a person. */
const SETTLE_EACH_MS = 500;
const FEW_READS = 2;
const SETTLE_MOST_MS = 30_000;

interface Record_ {
  id?: string;
  status?: string;
  statusReasonCode?: string | null;
}

/** The last event of each record, by its id. */
type Events = Map<string, AccountEvent>;

const STREAM = "/v2/account/events";
let connection: Connection = { isOpen: true, since: undefined };
let isFollowing = false;
const watchers = new Set<() => void>();

/** Follows the stream while the page is looked at, for as long as it is open. Whoever signs out or in loads the page anew. */
export function followEvents(cache: QueryClient): void {
  if (isFollowing) return;
  isFollowing = true;
  followWhileSeen(cache, (next) => {
    connection = next;
    for (const tell of watchers) tell();
  });
}

/** Before the first page reads anything, where the stream was asked for by then: its beginning makes everything old that was read before. */
export function followEarly(cache: QueryClient): void {
  if (hasEarly(STREAM)) followEvents(cache);
}

export const connectionNow = (): Connection => connection;
export const watchConnection = (tell: () => void): (() => void) => {
  watchers.add(tell);
  return () => watchers.delete(tell);
};

function followWhileSeen(cache: QueryClient, tell: (connection: Connection) => void): void {
  const changes = new Changes(cache);
  let following: AbortController | undefined;
  const look = () => {
    if (document.hidden) following?.abort();
    else if (!following || following.signal.aborted) {
      following = new AbortController();
      void follow(STREAM, {
        signal: following.signal,
        onEvent: (event) => changes.take(event as AccountEvent),
        onConnection: tell,
      });
    }
  };
  document.addEventListener("visibilitychange", look);
  look();
}

/** Gathers events: shows what they say, and reads what became old again, both once for many. */
export class Changes {
  readonly #cache: QueryClient;
  readonly #old = new Map<string, { name: OperationName; id: string | undefined }>();
  readonly #records = new Map<StreamedResource, Events>();
  readonly #jobs = new Map<string, AccountEvent["jobs"]>();
  #folding: ReturnType<typeof setTimeout> | undefined;
  #settling: ReturnType<typeof setTimeout> | undefined;
  #pauseMs = SETTLE_FIRST_MS;
  /** The next round of reads is not before this time. */
  #quietUntil = 0;

  constructor(cache: QueryClient) {
    this.#cache = cache;
  }

  take(event: AccountEvent): void {
    const { type, resource, endpointId, id } = event;
    if (type === "reset") {
      void this.#cache.invalidateQueries();
      return;
    }
    if (type === "jobs" && endpointId !== undefined) {
      this.#jobs.set(endpointId, event.jobs);
      this.#mark(OF_JOBS, endpointId);
    }
    if (resource !== undefined && id !== undefined) {
      const known = this.#records.get(resource) ?? new Map();
      this.#records.set(resource, known.set(id, event));
      this.#mark(READS[resource], resource === "workers" ? endpointId : undefined);
    }
    this.#folding ??= setTimeout(() => this.#fold(), FOLD_MS);
  }

  #fold(): void {
    this.#folding = undefined;
    for (const [resource, events] of this.#records) fold(this.#cache, resource, events);
    for (const [endpoint, jobs] of this.#jobs) {
      this.#cache.setQueryData(keyOf("getEndpointHealth", { params: { endpoint_id: endpoint } }), (known: unknown) =>
        known === undefined ? undefined : { ...known, jobs },
      );
    }
    this.#records.clear();
    this.#jobs.clear();
  }

  #mark(names: readonly OperationName[], id?: string): void {
    for (const name of names) this.#old.set(`${name} ${id ?? ""}`, { name, id });
    if (this.#settling !== undefined) return;
    const earlyMs = this.#quietUntil - performance.now();
    if (earlyMs < -SETTLE_MS) this.#pauseMs = SETTLE_FIRST_MS;
    this.#settling = setTimeout(() => this.#settle(), Math.max(FOLD_MS, earlyMs));
  }

  #settle(): void {
    this.#settling = undefined;
    let asked = 0;
    for (const { name, id } of this.#old.values()) {
      const filter = {
        predicate: ({ queryKey }: { queryKey: readonly unknown[] }) =>
          queryKey[0] === name && concerns(queryKey[1], id),
      };
      asked += this.#cache.getQueryCache().findAll({ ...filter, type: "active" }).length;
      void this.#cache.invalidateQueries(filter);
    }
    this.#old.clear();
    const forReadsMs = asked > FEW_READS ? Math.min(asked * SETTLE_EACH_MS, SETTLE_MOST_MS) : 0;
    this.#quietUntil = performance.now() + Math.max(this.#pauseMs, forReadsMs);
    this.#pauseMs = Math.min(this.#pauseMs * 2, SETTLE_MS);
  }
}

/** Whether a read with this question is about the record or the endpoint. */
function concerns(ask: unknown, id: string | undefined): boolean {
  if (id === undefined) return true;
  const { params } = (ask ?? {}) as { params?: Record<string, string> };
  return params === undefined || Object.values(params).includes(id);
}

/** Shows new statuses at once; the rest of a record follows when it is read again. */
function fold(cache: QueryClient, resource: StreamedResource, events: Events): void {
  for (const name of READS[resource])
    cache.setQueriesData({ queryKey: [name] }, (known: unknown) => folded(known, resource, events));
}

/** What a read answered, with what the events say; undefined where they say nothing about it. */
export function folded(known: unknown, resource: StreamedResource, events: Events): unknown {
  if (typeof known !== "object" || known === null) return undefined;
  const record = known as Record_;
  if (record.id !== undefined) {
    const next = changed(record, resource, events);
    return next === record ? undefined : next;
  }
  let isNew = false;
  const next = Object.entries(known).map(([key, value]) => {
    if (!Array.isArray(value)) return [key, value];
    const rows = key === "pages" ? value.map((page) => folded(page, resource, events) ?? page) : rowsOf(value);
    isNew ||= rows.length !== value.length || rows.some((row, place) => row !== value[place]);
    return [key, rows];
  });
  return isNew ? Object.fromEntries(next) : undefined;

  /** Also arrays of plain values, such as the cursors of pages. */
  function rowsOf(rows: readonly (Record_ | null | undefined)[]) {
    return rows
      .filter((row) => row?.id === undefined || events.get(row.id)?.type !== "removed")
      .map((row) => (row?.id === undefined ? row : changed(row, resource, events)));
  }
}

function changed(record: Record_, resource: StreamedResource, events: Events): Record_ {
  const event = record.id === undefined ? undefined : events.get(record.id);
  // A worker's state by its lifecycle is another word than the one its list shows, such as `READY` for `IDLE` and `RUNNING`.
  if (event?.status === undefined || resource === "workers") return record;
  const statusReasonCode = event.reasonCode ?? null;
  if (record.status === event.status && (record.statusReasonCode ?? null) === statusReasonCode) return record;
  return { ...record, status: event.status, statusReasonCode };
}
