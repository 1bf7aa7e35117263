/** The records of batches: the batch, the pages of its requests, and the requests' texts until they become jobs. */
import type { RequestTerms } from "../../jobs/request.ts";
import type { Kept } from "../../kernel/document.ts";
import type { Moved } from "../../kernel/lifecycle.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import { type Store, type Write, WriteRefused } from "../../ports/store/store.ts";
import { type BatchMove, type BatchStatus, batchLifecycle, type RequestCounts, type RequestEnd } from "./model.ts";

export type KeptBatch = {
  endpoint: string;
  status: Moved<BatchStatus>;
  displayName?: string;
  /** The number of requests on each page. */
  sizes: number[];
  /** The length of the texts on the last page, which takes more requests while it is small. */
  lastLength: number;
  /** This many pages, from the first, have no texts any more. Their requests are jobs, or will never be. */
  queuedPages: number;
  /** On this many pages, from the first, every request has ended and is counted. */
  settledPages: number;
  counts: Pick<RequestCounts, "completed" | "failed" | "cancelled">;
  /** The place that the batch holds among the endpoint's active batches, until it has ended. */
  place?: string;
  /** The timeout of its jobs, taken from the endpoint when the batch was finalized. */
  executionTimeoutMs?: number;
  finalizedAt?: number;
  endedAt?: number;
};

/** A page of a batch's requests, in the order they came. */
export type KeptPage = {
  /** Each is the id of the job that the request becomes. */
  ids: string[];
  /** How each request ended. This is written when all of them have, so that it outlives their results. */
  ends?: RequestOutcome[];
};

export type RequestOutcome = { status: RequestEnd; startedAt?: number; completedAt?: number };

/** A request that is not a job yet. */
export type RequestText = { body: string; terms: RequestTerms; sealed?: true };

export type KeptTexts = { requests: RequestText[] };

/** A batch with something left to do. */
export type KeptRun = { endpoint: string };

const batches: Kept<KeptBatch> = { kind: "batch", v: 1, unique: ({ place }) => ({ place }) };
const pages: Kept<KeptPage> = { kind: "batch-page", v: 1 };
const texts: Kept<KeptTexts> = { kind: "batch-text", v: 1 };
const runs: Kept<KeptRun> = { kind: "batch-run", v: 1 };

/** The fields that a change can set directly. The status only changes by a move. */
type BatchSet = Partial<Omit<KeptBatch, "status">>;

export type BatchItem = Item<KeptBatch>;

/** The endpoint takes the place of the account in the records of batches. They are listed by it, and removed with all of their texts. */
export const ownerOf = (endpoint: string) => `endpoint ${endpoint}`;

export const pageId = (batch: string, page: number) => `${batch}-${page}`;

export class BatchRecords {
  readonly store: Store;
  readonly batches: Collection<KeptBatch>;
  readonly pages: Collection<KeptPage>;
  readonly texts: Collection<KeptTexts>;
  readonly runs: Collection<KeptRun>;

  constructor({ store }: { store: Store }) {
    this.store = store;
    this.batches = new Collection(store, batches);
    this.pages = new Collection(store, pages);
    this.texts = new Collection(store, texts);
    this.runs = new Collection(store, runs);
  }

  async prepare(): Promise<void> {
    for (const kept of [this.batches, this.pages, this.texts, this.runs]) await kept.prepare();
  }

  /** The only way to change the status. Throws if the lifecycle has no such move. */
  moving(batch: BatchItem, move: BatchMove, set: BatchSet = {}, clear: (keyof BatchSet)[] = []): Write {
    const status = batchLifecycle.move(batch.id, batch.doc.status, move);
    return this.batches.patching(batch, { ...set, status }, clear);
  }

  /** Returns false if somebody else changed one of the records first. Nothing is written then. */
  async commit(writes: Write[]): Promise<boolean> {
    try {
      await this.store.commit(writes);
      return true;
    } catch (error) {
      if (error instanceof WriteRefused) return false;
      throw error;
    }
  }

  /** Lists the newest first. */
  list(endpoint: string, limit: number): Promise<BatchItem[]> {
    return this.batches.list({ account: ownerOf(endpoint), limit });
  }

  async page({ id }: Pick<BatchItem, "id">, page: number): Promise<Item<KeptPage>> {
    const found = await this.pages.get(pageId(id, page));
    if (!found) throw new Error(`page ${page} of ${id} is missing`);
    return found;
  }

  /** The writes that remove everything of a batch. They go into one commit, together with others. */
  removing({ id, version, doc }: BatchItem): Write[] {
    const ofPages = doc.sizes.flatMap((_, page) => [
      this.pages.removing(pageId(id, page)),
      ...(page < doc.queuedPages ? [] : [this.texts.removing(pageId(id, page))]),
    ]);
    return [this.batches.removing(id, version), ...ofPages];
  }

  /** Passes every body with a sealed credential through `change`, a page at a time. Returns how many changed. */
  async reseal(change: (body: string, request: string) => string | undefined): Promise<number> {
    let changed = 0;
    for await (const { id, doc } of this.batches.all()) {
      for (let page = doc.queuedPages; page < doc.sizes.length; page++) {
        const texts = await this.texts.get(pageId(id, page));
        if (!texts?.doc.requests.some(({ sealed }) => sealed)) continue;
        const requests = texts.doc.requests.map((request, i) => {
          const body = request.sealed && change(request.body, `${pageId(id, page)}-${i}`);
          return body ? { ...request, body } : request;
        });
        const anew = requests.filter((request, i) => request !== texts.doc.requests[i]).length;
        if (anew > 0) await this.texts.patch(texts, { requests });
        changed += anew;
      }
    }
    return changed;
  }

  /** Removes all batches of an endpoint for good, including the texts of requests that never became jobs. */
  removeEndpoint(endpoint: string): Promise<void> {
    return this.store.removeAccount(ownerOf(endpoint));
  }
}
