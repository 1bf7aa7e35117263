/** Moves finalized batches on: queues their requests as jobs, page by page, and counts the ended ones. Every step can be repeated. */

import type { Engine } from "../../jobs/engine.ts";
import { shortening } from "../../jobs/moves.ts";
import { every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { type Job, jobLifecycle } from "../../ports/queue/job.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { Item } from "../../ports/store/collection.ts";
import { batchLifecycle, type RequestEnd } from "./model.ts";
import {
  type BatchItem,
  type BatchRecords,
  type KeptBatch,
  type KeptPage,
  pageId,
  type RequestOutcome,
  type RequestText,
} from "./records.ts";

const TICK_MS = 2000;
/** A run queues all requests of the batches that were finalized since. */
const LONGEST_MS = 3_600_000;

/** The state of a request: its job while that is known, or how it ended. */
export type RequestState = { id: string; job?: Job; end?: RequestOutcome };

export interface ProgressParts {
  records: BatchRecords;
  engine: Engine;
  queue: Queue;
  clock: Clock;
  failed: Failed;
  /** Whether the endpoint was not removed. */
  hasEndpoint: (id: string) => Promise<boolean>;
  /** Whether it is this node's turn. */
  mine?: ((now: number) => Promise<boolean>) | undefined;
}

export class BatchProgress implements AsyncDisposable {
  readonly #parts: ProgressParts;
  readonly #ticking: AsyncDisposable;

  constructor(parts: ProgressParts) {
    this.#parts = parts;
    const { mine = async () => true } = parts;
    this.#ticking = every(
      parts.clock,
      { name: "go on with batches", everyMs: TICK_MS, longestMs: LONGEST_MS },
      async (now) => void ((await mine(now)) && (await this.tick())),
      parts.failed,
    );
  }

  /** Continues every batch that has not ended, also after a crash and whichever node began it. */
  async tick(): Promise<void> {
    for await (const { id } of this.#parts.records.runs.all()) {
      // A failure at one batch must not hold up the others.
      await this.goOn(id).catch(named(this.#parts.failed, "go on with batches"));
    }
  }

  async goOn(id: string): Promise<void> {
    await this.queue(id);
    await this.cancelWaiting(id);
    await this.#settle(id);
  }

  /**
   * Makes each request one job, even if this is repeated or several nodes do it at once. The idempotency key of a job prevents a second one
   * while the first exists, and the jobs of a batch are kept until the batch has ended.
   */
  async queue(id: string): Promise<void> {
    const { records } = this.#parts;
    for (;;) {
      const batch = await records.batches.get(id);
      if (batch?.doc.status !== "FINALIZED" || batch.doc.queuedPages === batch.doc.sizes.length) return;
      const { endpoint, queuedPages } = batch.doc;
      const place = pageId(id, queuedPages);
      const [page, texts] = await Promise.all([records.pages.get(place), records.texts.get(place)]);
      // Another node already queued this page.
      if (!page || !texts) continue;
      await this.#submit(batch, page.doc.ids, texts.doc.requests);
      const isNoted = await records.commit([
        records.batches.patching(batch, { queuedPages: queuedPages + 1 }),
        records.texts.removing(place),
      ]);
      if (!isNoted) await this.#takeBack(id, endpoint, page);
    }
  }

  /** Cancels the waiting jobs of a cancelled batch. Running jobs continue. */
  async cancelWaiting(id: string): Promise<void> {
    const { records } = this.#parts;
    const batch = await records.batches.get(id);
    if (batch?.doc.status !== "CANCELLED" || batch.doc.finalizedAt === undefined) return;
    for (let page = batch.doc.settledPages; page < batch.doc.sizes.length; page++) {
      await this.#cancel((await records.page(batch, page)).doc.ids);
    }
  }

  /** The states of the requests on a page. */
  async look({ doc }: Pick<BatchItem, "doc">, page: number, { ids, ends }: KeptPage): Promise<RequestState[]> {
    const { queue, clock } = this.#parts;
    const isCounted = page < doc.settledPages;
    const mayBeJobs = page < doc.queuedPages || doc.finalizedAt !== undefined;
    const jobs = mayBeJobs ? await queue.find(ids, clock.now()) : [];
    return Promise.all(
      ids.map(async (id, i) => {
        const job = jobs[i];
        const end = isCounted ? ends?.[i] : job ? endOf(job) : await this.#endWithoutJob(doc, page, id);
        return { id, ...(job ? { job } : {}), ...(end ? { end } : {}) };
      }),
    );
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#ticking[Symbol.asyncDispose]();
  }

  #submit({ id: batch, doc }: BatchItem, ids: readonly string[], requests: readonly RequestText[]): Promise<void> {
    const endpoint = { id: doc.endpoint, executionTimeoutMs: doc.executionTimeoutMs! };
    const submissions = requests.map(({ body, ...rest }, i) => ({
      ...{ id: ids[i]!, endpoint, ...rest, mode: "batch" as const },
      // The body is a JSON object that is not empty, so a comma fits. If it already has a `batchId`, the last one counts.
      body: `${body.slice(0, -1)},"batchId":"${batch}"}`,
      // A client cannot send this key, because a header cannot contain a line break.
      idempotency: { key: `batch\n${ids[i]}`, digest: batch },
    }));
    return this.#parts.engine.submitAll(endpoint, submissions);
  }

  /** Takes back jobs that were queued while the batch was cancelled or removed. The node that did that may not have seen them yet. */
  async #takeBack(id: string, endpoint: string, page: Item<KeptPage>): Promise<void> {
    const { records, engine, hasEndpoint } = this.#parts;
    const batch = await records.batches.get(id);
    // An ended batch may also make room for a new one, and then the endpoint has other jobs.
    if (!batch && !(await hasEndpoint(endpoint))) return engine.removeEndpoint(endpoint);
    if (batch && batch.doc.status !== "CANCELLED") return;
    await this.#cancel(page.doc.ids);
    if (!batch || batch.doc.endedAt !== undefined) await this.#letGo(page);
  }

  async #cancel(ids: readonly string[]): Promise<void> {
    const { engine, queue, clock } = this.#parts;
    const jobs = await queue.find(ids, clock.now());
    await engine.cancelWaiting(jobs.filter((job) => job?.state === "IN_QUEUE") as Job[]);
  }

  /** How a request without a job ended. Undefined if its job is still to come. */
  async #endWithoutJob(doc: KeptBatch, page: number, id: string): Promise<RequestOutcome | undefined> {
    if (doc.status === "DRAFT") return undefined;
    if (doc.status === "CANCELLED" && page >= doc.queuedPages) return { status: "CANCELLED" };
    if (page >= doc.queuedPages) return undefined;
    const { queue, clock } = this.#parts;
    const isPurged = (await queue.read(id, clock.now())) === "purged";
    // A job of a running batch disappears only if it was purged, or if a caller read its result and deleted it.
    return { status: isPurged ? "CANCELLED" : "COMPLETED" };
  }

  async #settle(id: string): Promise<void> {
    const { records } = this.#parts;
    for (;;) {
      const batch = await records.batches.get(id);
      if (!batch || batch.doc.endedAt !== undefined || batch.doc.status === "DRAFT") return;
      const page = batch.doc.settledPages;
      if (page === batch.doc.sizes.length) return this.#end(batch);
      if (!(await this.#settlePage(batch, page))) return;
    }
  }

  /** Returns false if a request of the page has not ended. */
  async #settlePage(batch: BatchItem, page: number): Promise<boolean> {
    const { records } = this.#parts;
    const kept = await records.page(batch, page);
    const states = await this.look(batch, page, kept.doc);
    const ends = states.flatMap(({ end }) => (end ? [end] : []));
    if (ends.length < states.length) return false;
    const { completed, failed, cancelled } = batch.doc.counts;
    const counted = countEnds(ends);
    await records.commit([
      records.batches.patching(batch, {
        settledPages: page + 1,
        counts: {
          completed: completed + counted.completed,
          failed: failed + counted.failed,
          cancelled: cancelled + counted.cancelled,
        },
      }),
      records.pages.patching(kept, { ends }),
    ]);
    return true;
  }

  /** From now on the results of the batch are kept only as long as those of other jobs. */
  async #end(batch: BatchItem): Promise<void> {
    const { records, clock } = this.#parts;
    for (let page = 0; page < batch.doc.sizes.length; page++) await this.#letGo(await records.page(batch, page));
    const { status, counts, sizes, queuedPages } = batch.doc;
    const hasFailed = batchLifecycle.can(status, "fail") && counts.completed === 0 && counts.failed > 0;
    const set = { endedAt: clock.now(), queuedPages: sizes.length };
    await records.commit([
      hasFailed ? records.moving(batch, "fail", set, ["place"]) : records.batches.patching(batch, set, ["place"]),
      records.runs.removing(batch.id),
      ...sizes.slice(queuedPages).map((_, i) => records.texts.removing(pageId(batch.id, queuedPages + i))),
    ]);
  }

  async #letGo({ doc: { ids } }: Item<KeptPage>): Promise<void> {
    const { queue, clock, engine } = this.#parts;
    const now = clock.now();
    const jobs = await queue.find(ids, now);
    await queue.apply(jobs.flatMap((job) => (job ? shortening(job, engine.retention.run, now) : [])));
  }
}

function endOf({ state, startedAt, endedAt }: Job): RequestOutcome | undefined {
  if (!jobLifecycle.isFinal(state)) return undefined;
  return {
    status: state as RequestEnd,
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(endedAt === undefined ? {} : { completedAt: endedAt }),
  };
}

export function countEnds(ends: readonly RequestOutcome[]): KeptBatch["counts"] {
  const count = (...statuses: RequestEnd[]) => ends.filter(({ status }) => statuses.includes(status)).length;
  return { completed: count("COMPLETED"), failed: count("FAILED", "TIMED_OUT"), cancelled: count("CANCELLED") };
}
