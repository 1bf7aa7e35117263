/** The releases of an endpoint, and how far its workers follow them. */
import { timestamp } from "../../kernel/clock.ts";
import { DEFAULT_PAGE, decodeCursor, pageOf } from "../../kernel/cursor.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { EndpointService } from "../endpoints/service.ts";
import type { Worker } from "../workers/model.ts";
import type { WorkerService } from "../workers/service.ts";
import type { KeptRelease, Release, Rollout } from "./model.ts";
import type { releaseOperations } from "./operations.ts";
import type { ReleaseRecords } from "./records.ts";

type Operations = typeof releaseOperations;

export class ReleaseService implements Handlers<Operations> {
  readonly #records: ReleaseRecords;
  readonly #endpoints: EndpointService;
  readonly #workers: WorkerService;

  constructor(parts: { releaseRecords: ReleaseRecords; endpoints: EndpointService; workers: WorkerService }) {
    this.#records = parts.releaseRecords;
    this.#endpoints = parts.endpoints;
    this.#workers = parts.workers;
  }

  async listEndpointReleases({ caller, params, query }: Call<Operations["listEndpointReleases"]>) {
    const { id, account, doc } = await this.#endpoints.own(caller, params.id!);
    const listing = `releases of ${id}`;
    const limit = query.limit ?? DEFAULT_PAGE;
    const after = decodeCursor(listing, query.cursor);
    const next = after ? Number(after.id.slice(id.length + 1)) : doc.release + 1;
    const found = await this.#records.before({ id, account, release: doc.release }, next, limit + 1);
    const { shown, pagination } = pageOf(listing, found, limit);
    const workers = (await this.#workers.standing(id, doc.release)).filter(({ version }) => version != null);
    return {
      rollout: rolloutOf(workers),
      releases: shown.map((release) => shownRelease(release, workers)),
      endpointVersion: doc.release,
      pagination,
    };
  }
}

function rolloutOf(workers: readonly Worker[]): Rollout {
  const workersTotal = workers.length;
  const workersOnLatest = workers.filter(({ isStale }) => !isStale).length;
  return {
    inProgress: workersOnLatest < workersTotal,
    workersOnLatest,
    workersTotal,
    percentOnLatest: workersTotal === 0 ? 0 : Math.floor((100 * workersOnLatest) / workersTotal),
  };
}

function shownRelease({ id, createdAt, doc }: Item<KeptRelease>, workers: readonly Worker[]): Release {
  return {
    id,
    version: doc.version,
    source: "MANUAL",
    buildId: null,
    createdAt: timestamp(createdAt),
    createdByUserId: doc.user,
    workerCount: workers.filter(({ version }) => version === doc.version).length,
    diff: doc.diff,
  };
}
