/** What is kept of batches: the batch, pages of its requests, and their texts until they are jobs. */
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
  /** How many requests each page has. */
  sizes: number[];
  /** Length of the texts of the last page, which grows as long as it is small. */
  lastLength: number;
  /** The first so many pages have no texts any more: they are jobs, or will never be. */
  queuedPages: number;
  /** Of the first so many pages every request has ended, and is counted. */
  settledPages: number;
  counts: Pick<RequestCounts, "completed" | "failed" | "cancelled">;
  /** Its place among those of the endpoint that may be active, held until it has ended. */
  place?: string;
  /** What its jobs are held to, as it was when it was finalized. */
  executionTimeoutMs?: number;
  finalizedAt?: number;
  endedAt?: number;
};

/** Requests of a batch, in the order in which they came. */
export type KeptPage = {
  /** Each is the id of the job that the request becomes. */
  ids: string[];
  /** How each ended: written when all of them have, so that it outlives their results. */
  ends?: RequestOutcome[];
};

export type RequestOutcome = { status: RequestEnd; startedAt?: number; completedAt?: number };

/** A request that is no job yet. */
export type RequestText = { body: string; terms: RequestTerms; sealed?: true };

export type KeptTexts = { requests: RequestText[] };

/** A batch of which something is left to be done. */
export type KeptRun = { endpoint: string };

const batches: Kept<KeptBatch> = { kind: "batch", v: 1, unique: ({ place }) => ({ place }) };
const pages: Kept<KeptPage> = { kind: "batch-page", v: 1 };
const texts: Kept<KeptTexts> = { kind: "batch-text", v: 1 };
const runs: Kept<KeptRun> = { kind: "batch-run", v: 1 };

/** What a change may say of a batch: its status is moved, never said. */
type BatchSet = Partial<Omit<KeptBatch, "status">>;

export type BatchItem = Item<KeptBatch>;

/** Batches belong to their endpoint as other records do to their account: listed with it, and removed with all of their text. */
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

  /** The record's own move, and the only one: what the table lacks is refused. */
  moving(batch: BatchItem, move: BatchMove, set: BatchSet = {}, clear: (keyof BatchSet)[] = []): Write {
    const status = batchLifecycle.move(batch.id, batch.doc.status, move);
    return this.batches.patching(batch, { ...set, status }, clear);
  }

  /** False when somebody else changed one of them first; nothing was written then. */
  async commit(writes: Write[]): Promise<boolean> {
    try {
      await this.store.commit(writes);
      return true;
    } catch (error) {
      if (error instanceof WriteRefused) return false;
      throw error;
    }
  }

  /** The newest first. */
  list(endpoint: string, limit: number): Promise<BatchItem[]> {
    return this.batches.list({ account: ownerOf(endpoint), limit });
  }

  async page({ id }: Pick<BatchItem, "id">, page: number): Promise<Item<KeptPage>> {
    const found = await this.pages.get(pageId(id, page));
    if (!found) throw new Error(`page ${page} of ${id} is missing`);
    return found;
  }

  /** Everything that is kept of a batch goes, in one commit with what else is to be written. */
  removing({ id, version, doc }: BatchItem): Write[] {
    const ofPages = doc.sizes.flatMap((_, page) => [
      this.pages.removing(pageId(id, page)),
      ...(page < doc.queuedPages ? [] : [this.texts.removing(pageId(id, page))]),
    ]);
    return [this.batches.removing(id, version), ...ofPages];
  }

  /** Does to every body with a sealed credential what `change` says, a page at a time. Returns how many were changed. */
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

  /** Gone for good, the texts of requests that never became jobs included. */
  removeEndpoint(endpoint: string): Promise<void> {
    return this.store.removeAccount(ownerOf(endpoint));
  }
}
