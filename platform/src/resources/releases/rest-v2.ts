/** Answers the REST v2 operations on the releases of an endpoint. */
import { timestamp } from "../../kernel/clock.ts";
import { decodeCursor, pageOf } from "../../kernel/cursor.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { DEFAULT_PAGE } from "../../kernel/page.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { Worker } from "../workers/model.ts";
import type { KeptRelease, Release, Rollout } from "./model.ts";
import type { releaseOperations } from "./operations.ts";
import type { ReleaseService } from "./service.ts";

export const releaseHandlers = (service: ReleaseService): Handlers<typeof releaseOperations> => ({
  async listEndpointReleases({ caller, params, query }) {
    const id = params.id!;
    const listing = `releases of ${id}`;
    const limit = query.limit ?? DEFAULT_PAGE;
    const after = decodeCursor(listing, query.cursor);
    const before = after && Number(after.id.slice(id.length + 1));
    const { releases, workers, release } = await service.list(caller, id, { before, limit: limit + 1 });
    const { shown, pagination } = pageOf(listing, releases, limit);
    return {
      rollout: rolloutOf(workers),
      releases: shown.map((one) => shownRelease(one, workers)),
      endpointVersion: release,
      pagination,
    };
  },
});

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
