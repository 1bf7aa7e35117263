/** The rules of batches: what can be done in which state, and what callers see. */
import type { Engine } from "../../jobs/engine.ts";
import type { Clock } from "../../kernel/clock.ts";
import { resourceId } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { Write } from "../../ports/store/store.ts";
import { BATCH_LIMITS, BATCHES_KEPT, type Batch, type BatchMove, batchLifecycle, type RequestCounts } from "./model.ts";
import { type BatchProgress, countEnds, type RequestState } from "./progress.ts";
import { type BatchItem, type BatchRecords, type KeptBatch, ownerOf, pageId, type RequestText } from "./records.ts";

/** A page has at most this many requests. */
const PAGE = 500;
/** While the texts of a page are shorter than this together, the page takes more requests. A longer one would be rewritten too often. */
const GROWING_LENGTH = 256 * 1024;

/** A new batch makes room for itself. Of old ones beyond that it removes only some, so that its commit stays short. */
const REMOVED_AT_ONCE = 10;

/** The fields of an endpoint that batches need. */
export interface BatchEndpoint {
  id: string;
  executionTimeoutMs: number;
}

export interface BatchParts {
  records: BatchRecords;
  progress: BatchProgress;
  engine: Engine;
  clock: Clock;
  random: Random;
  /** The most batches of an endpoint that are kept. */
  most?: number | undefined;
}

export interface RequestPage {
  states: RequestState[];
  status: KeptBatch["status"];
  total: number;
}

export class BatchService {
  readonly #parts: BatchParts;

  constructor(parts: BatchParts) {
    this.#parts = parts;
  }

  /** The batch and its requests are on disk when this resolves. */
  async create(
    endpoint: BatchEndpoint,
    requests: readonly RequestText[],
  ): Promise<{ id: string; requestIds: string[] }> {
    const { records, clock, random } = this.#parts;
    const id = `batch_${resourceId(random)}`;
    const empty = { sizes: [], lastLength: 0, queuedPages: 0, settledPages: 0, counts: countEnds([]) };
    const place = { id, account: ownerOf(endpoint.id), createdAt: clock.now() };
    for (;;) {
      const kept = await records.list(endpoint.id, BATCH_LIMITS.kept);
      const doc: KeptBatch = {
        endpoint: endpoint.id,
        status: batchLifecycle.begin("DRAFT"),
        ...empty,
        place: freePlace(kept),
      };
      const { writes, ids, set } = this.#adding({ ...place, version: 0, doc }, requests);
      const made = records.batches.inserting({ ...place, doc: { ...doc, ...set } });
      // Fails if another batch took the place meanwhile; then the loop tries again.
      if (await records.commit([...this.#makingRoom(kept), made, ...writes])) return { id, requestIds: ids };
    }
  }

  async add(endpoint: BatchEndpoint, id: string, requests: readonly RequestText[]) {
    if (requests.length === 0) throw problem("invalid", "'requests' is empty: at least one request is required");
    for (;;) {
      const batch = await this.#draft(endpoint, id, "take requests");
      const last = await this.#lastPage(batch);
      const { writes, ids, set } = this.#adding(batch, requests, last);
      if (await this.#parts.records.commit([this.#parts.records.batches.patching(batch, set), ...writes]))
        return { id, status: batch.doc.status, requestIds: ids, requestTotal: totalOf({ ...batch.doc, ...set }) };
    }
  }

  async removeRequest(endpoint: BatchEndpoint, id: string, request: string): Promise<void> {
    const { records } = this.#parts;
    for (;;) {
      const batch = await this.#draft(endpoint, id, "lose requests");
      const found = await this.#pageOf(batch, request);
      if (!found) throw problem("not-found", "request not found in this batch");
      const { page, at, kept } = found;
      const texts = (await records.texts.get(pageId(id, page)))!;
      const without = <T>(list: readonly T[]) => list.toSpliced(at, 1);
      const writes = [
        records.batches.patching(batch, { sizes: batch.doc.sizes.with(page, batch.doc.sizes[page]! - 1) }),
        records.pages.patching(kept, { ids: without(kept.doc.ids) }),
        records.texts.patching(texts, { requests: without(texts.doc.requests) }),
      ];
      if (await records.commit(writes)) return;
    }
  }

  async rename(endpoint: BatchEndpoint, id: string, displayName: string): Promise<Batch> {
    for (;;) {
      const batch = await this.own(endpoint, id);
      if (await this.#parts.records.commit([this.#parts.records.batches.patching(batch, { displayName })]))
        return this.get(endpoint, id);
    }
  }

  /** Can be repeated, and then continues where it stopped. The decision is on disk before the first job is. */
  async finalize(endpoint: BatchEndpoint, id: string): Promise<Batch> {
    const { records, progress, clock } = this.#parts;
    for (;;) {
      const batch = await this.own(endpoint, id);
      if (batch.doc.status === "FINALIZED") break;
      const set = {
        finalizedAt: clock.now(),
        executionTimeoutMs: endpoint.executionTimeoutMs,
      };
      refuseWrongMove(batch, "finalize");
      await this.#refuseFull(batch);
      if (await records.commit([records.moving(batch, "finalize", set), this.#running(batch)])) break;
    }
    await progress.goOn(id);
    return this.get(endpoint, id);
  }

  /** A batch that has ended does not change. */
  async cancel(endpoint: BatchEndpoint, id: string): Promise<Batch> {
    const { records, progress } = this.#parts;
    for (;;) {
      const batch = await this.own(endpoint, id);
      const { status, endedAt } = batch.doc;
      if (endedAt !== undefined) return this.get(endpoint, id);
      if (status === "CANCELLED") break;
      const running = status === "DRAFT" ? [this.#running(batch)] : [];
      refuseWrongMove(batch, "cancel");
      if (await records.commit([records.moving(batch, "cancel"), ...running])) break;
    }
    await progress.goOn(id);
    return this.get(endpoint, id);
  }

  async get(endpoint: BatchEndpoint, id: string): Promise<Batch> {
    return this.#shown(await this.own(endpoint, id));
  }

  /** Lists the newest first. */
  async list(endpoint: BatchEndpoint, { offset, limit }: { offset: number; limit: number }) {
    const all = await this.#parts.records.list(endpoint.id, BATCH_LIMITS.kept);
    const batches = await Promise.all(all.slice(offset, offset + limit).map((batch) => this.#shown(batch)));
    return { batches, total: all.length };
  }

  /** The requests in the order they came. Only the pages that are needed are read. */
  async requests(
    endpoint: BatchEndpoint,
    id: string,
    { offset, limit }: { offset: number; limit: number },
  ): Promise<RequestPage> {
    const { records, progress } = this.#parts;
    const batch = await this.own(endpoint, id);
    const states: RequestState[] = [];
    for (let page = 0, before = 0; page < batch.doc.sizes.length && states.length < limit; page++) {
      const size = batch.doc.sizes[page]!;
      const from = Math.max(0, offset - before);
      before += size;
      if (from >= size) continue;
      const kept = (await records.page(batch, page)).doc;
      const to = from + limit - states.length;
      const asked = { ids: kept.ids.slice(from, to), ...(kept.ends ? { ends: kept.ends.slice(from, to) } : {}) };
      states.push(...(await progress.look(batch, page, asked)));
    }
    return { states, status: batch.doc.status, total: totalOf(batch.doc) };
  }

  removeEndpoint(endpoint: string): Promise<void> {
    return this.#parts.records.removeEndpoint(endpoint);
  }

  /** Batches of another endpoint do not exist for the caller. */
  async own(endpoint: BatchEndpoint, id: string): Promise<BatchItem> {
    const batch = await this.#parts.records.batches.get(id);
    if (batch?.doc.endpoint !== endpoint.id) throw problem("not-found", "batch not found");
    return batch;
  }

  async #draft(endpoint: BatchEndpoint, id: string, what: string): Promise<BatchItem> {
    const batch = await this.own(endpoint, id);
    if (batch.doc.status !== "DRAFT")
      throw problem("wrong-state", `this batch is ${batch.doc.status}, and only a DRAFT can ${what}`);
    return batch;
  }

  async #refuseFull({ doc }: BatchItem): Promise<void> {
    const total = totalOf(doc);
    if (total === 0) throw problem("rule-broken", "this batch has no requests: add some before it is finalized");
    const { inQueue } = await this.#parts.engine.counts(doc.endpoint);
    if (inQueue + total <= BATCH_LIMITS.queued) return;
    throw problem(
      "too-much",
      `with the ${total} requests of this batch, ${inQueue + total} jobs would wait at this endpoint, and ${BATCH_LIMITS.queued} may`,
    );
  }

  #running({ id, account, doc }: BatchItem): Write {
    const { records, clock } = this.#parts;
    return records.runs.inserting({ id, account, createdAt: clock.now(), doc: { endpoint: doc.endpoint } });
  }

  /** The writes that put requests on pages, and the fields of the batch that change with them. */
  #adding(
    batch: BatchItem,
    requests: readonly RequestText[],
    last?: LastPage,
  ): { writes: Write[]; ids: string[]; set: Pick<KeptBatch, "sizes" | "lastLength"> } {
    const { records, engine } = this.#parts;
    const total = totalOf(batch.doc) + requests.length;
    if (total > BATCH_LIMITS.requests)
      throw problem(
        "rule-broken",
        `a batch has at most ${BATCH_LIMITS.requests} requests, and this one would have ${total}`,
      );
    const ids = requests.map(() => engine.newId("batch"));
    const sizes = [...batch.doc.sizes];
    const length = lengthOf(requests);
    if (last && last.page.doc.ids.length + requests.length <= PAGE && batch.doc.lastLength + length <= GROWING_LENGTH) {
      sizes[sizes.length - 1] = last.page.doc.ids.length + requests.length;
      const writes = [
        records.pages.patching(last.page, { ids: [...last.page.doc.ids, ...ids] }),
        records.texts.patching(last.texts, { requests: [...last.texts.doc.requests, ...requests] }),
      ];
      return { writes, ids, set: { sizes, lastLength: batch.doc.lastLength + length } };
    }
    const writes: Write[] = [];
    for (let from = 0; from < requests.length; from += PAGE) {
      const place = { id: pageId(batch.id, sizes.length), account: batch.account, createdAt: this.#parts.clock.now() };
      const page = { ids: ids.slice(from, from + PAGE) };
      sizes.push(page.ids.length);
      writes.push(
        records.pages.inserting({ ...place, doc: page }),
        records.texts.inserting({ ...place, doc: { requests: requests.slice(from, from + PAGE) } }),
      );
    }
    return { writes, ids, set: { sizes, lastLength: length } };
  }

  /** The last page with its texts, if they are short enough to be rewritten. */
  async #lastPage({ id, doc }: BatchItem): Promise<LastPage | undefined> {
    if (doc.sizes.length === 0 || doc.lastLength > GROWING_LENGTH) return undefined;
    const { pages, texts } = this.#parts.records;
    const last = pageId(id, doc.sizes.length - 1);
    const [page, text] = await Promise.all([pages.get(last), texts.get(last)]);
    return page && text && { page, texts: text };
  }

  async #pageOf(batch: BatchItem, request: string) {
    for (let page = 0; page < batch.doc.sizes.length; page++) {
      const kept = await this.#parts.records.page(batch, page);
      const at = kept.doc.ids.indexOf(request);
      if (at >= 0) return { page, at, kept };
    }
    return undefined;
  }

  /** Removes the oldest ended batches if too many are kept. There are several of them after the setting was lowered. */
  #makingRoom(kept: readonly BatchItem[]): Write[] {
    const { records, most = BATCHES_KEPT } = this.#parts;
    const over = Math.min(kept.length + 1 - most, REMOVED_AT_ONCE);
    if (over <= 0) return [];
    const ended = kept.filter(({ doc }) => doc.endedAt !== undefined);
    return ended.slice(-over).flatMap((batch) => records.removing(batch));
  }

  async #shown(batch: BatchItem): Promise<Batch> {
    const { endpoint, status, displayName, finalizedAt, endedAt } = batch.doc;
    const counts = await this.#counts(batch);
    return {
      id: batch.id,
      endpointId: endpoint,
      status,
      ...(displayName === undefined ? {} : { displayName }),
      requestTotal: totalOf(batch.doc),
      requestInQueue: counts.inQueue,
      requestInProgress: counts.inProgress,
      requestCompleted: counts.completed,
      requestFailed: counts.failed,
      requestCancelled: counts.cancelled,
      createdAt: batch.createdAt,
      ...(finalizedAt === undefined ? {} : { finalizedAt }),
      ...(endedAt === undefined ? {} : { completedAt: endedAt }),
      // A batch that has ended allows no actions.
      actions: endedAt === undefined ? batchLifecycle.actions(status) : [],
    };
  }

  /** The counts of settled pages from the record, plus the current state of the others. */
  async #counts(batch: BatchItem): Promise<RequestCounts> {
    const { records, progress } = this.#parts;
    const { doc } = batch;
    const counts = { inQueue: 0, inProgress: 0, ...doc.counts };
    if (doc.status === "DRAFT") return counts;
    for (let page = doc.settledPages; page < doc.sizes.length; page++) {
      const states = await progress.look(batch, page, (await records.page(batch, page)).doc);
      const { completed, failed, cancelled } = countEnds(states.flatMap(({ end }) => (end ? [end] : [])));
      const inProgress = states.filter(({ job }) => job?.state === "IN_PROGRESS").length;
      counts.completed += completed;
      counts.failed += failed;
      counts.cancelled += cancelled;
      counts.inProgress += inProgress;
      counts.inQueue += states.length - completed - failed - cancelled - inProgress;
    }
    return counts;
  }
}

interface LastPage {
  page: Item<{ ids: string[] }>;
  texts: Item<{ requests: RequestText[] }>;
}

function refuseWrongMove({ doc }: BatchItem, move: BatchMove): void {
  if (batchLifecycle.can(doc.status, move)) return;
  throw problem("wrong-state", `this batch is ${doc.status}, and only a DRAFT can be finalized`);
}

const totalOf = ({ sizes }: Pick<KeptBatch, "sizes">) => sizes.reduce((sum, size) => sum + size, 0);
const lengthOf = (requests: readonly RequestText[]) => requests.reduce((sum, { body }) => sum + body.length, 0);

/** Each active batch holds one of the numbered places, and no two can hold the same. That bounds them however many are made at once. */
function freePlace(kept: readonly BatchItem[]): string {
  const taken = new Set(kept.map(({ doc }) => doc.place));
  for (let place = 0; place < BATCH_LIMITS.active; place++) if (!taken.has(String(place))) return String(place);
  throw problem(
    "too-much",
    `this endpoint has ${BATCH_LIMITS.active} active batches, which is the limit: finalize and await one of them, or cancel one`,
  );
}
