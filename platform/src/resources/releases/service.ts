/** Lists the releases of an endpoint, and how far its workers follow them. */
import type { Caller } from "../../kernel/caller.ts";
import type { EndpointService } from "../endpoints/service.ts";
import type { WorkerService } from "../workers/service.ts";
import type { ReleaseRecords } from "./records.ts";

export class ReleaseService {
  readonly #records: ReleaseRecords;
  readonly #endpoints: EndpointService;
  readonly #workers: WorkerService;

  constructor(parts: { releaseRecords: ReleaseRecords; endpoints: EndpointService; workers: WorkerService }) {
    this.#records = parts.releaseRecords;
    this.#endpoints = parts.endpoints;
    this.#workers = parts.workers;
  }

  /** Lists the releases before a number, or the newest, together with all workers that belong to a release. */
  async list(caller: Caller, endpoint: string, { before, limit }: { before?: number | undefined; limit: number }) {
    const { id, account, doc } = await this.#endpoints.own(caller, endpoint);
    const released = { id, account, release: doc.release };
    const releases = await this.#records.before(released, before ?? doc.release + 1, limit);
    const workers = (await this.#workers.standing(id, doc.release)).filter(({ version }) => version != null);
    return { releases, workers, release: doc.release };
  }
}
