/** Endpoints as the fleet knows them. All are in memory, so that finding those that need workers does not read the store. */
import type { Clock } from "../../../kernel/clock.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { EndpointService } from "../../endpoints/service.ts";
import type { Survey } from "./planner.ts";

/** Changes that another node or the command line made without a signal are seen after this time. */
const REREAD_MS = 60_000;

export class EndpointBook {
  readonly #endpoints: EndpointService;
  readonly #clock: Clock;
  #known = new Map<string, Item<KeptEndpoint>>();
  /** Endpoints that changed while all of them were being read. */
  readonly #newer = new Set<string>();
  #readAt = Number.NEGATIVE_INFINITY;
  /** Another object after each change. */
  edition: object = {};

  constructor(parts: { endpoints: EndpointService; clock: Clock }) {
    this.#endpoints = parts.endpoints;
    this.#clock = parts.clock;
  }

  /** With a release, the endpoint is read again if the one in memory is older. */
  async find(id: string, release = 0): Promise<Item<KeptEndpoint> | undefined> {
    const known = this.#known.get(id);
    return known && known.doc.release >= release ? known : this.learn(id);
  }

  /** The endpoint, if it is in memory. */
  known(id: string): Item<KeptEndpoint> | undefined {
    return this.#known.get(id);
  }

  async learn(id: string): Promise<Item<KeptEndpoint> | undefined> {
    this.#newer.add(id);
    const item = await this.#endpoints.find(id);
    this.edition = {};
    if (item) this.#known.set(id, item);
    else this.#known.delete(id);
    return item;
  }

  drop(id: string): void {
    this.#newer.add(id);
    this.edition = {};
    this.#known.delete(id);
  }

  /** Makes the next `refresh` read all endpoints. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  async refresh(): Promise<void> {
    const now = this.#clock.monotonic();
    if (now - this.#readAt < REREAD_MS) return;
    this.#readAt = now;
    this.#newer.clear();
    const read = new Map<string, Item<KeptEndpoint>>();
    try {
      for await (const item of this.#endpoints.all()) read.set(item.id, item);
    } catch (error) {
      this.forget();
      throw error;
    }
    for (const id of this.#newer) {
      const newer = this.#known.get(id);
      if (newer) read.set(id, newer);
      else read.delete(id);
    }
    this.#known = read;
    this.edition = {};
  }

  /** Endpoints that have jobs or workers, or that keep a minimum of workers running. All others cost nothing. */
  *needed({ demand, workers }: Survey): Generator<string> {
    yield* workers.keys();
    for (const id of demand.keys()) if (!workers.has(id)) yield id;
    for (const [id, { doc }] of this.#known) if (doc.workers.min > 0 && !workers.has(id) && !demand.has(id)) yield id;
  }
}
