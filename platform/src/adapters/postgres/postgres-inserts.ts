/** New jobs on their way into PostgreSQL: what is known by its key, what is kept apart, and what begins at once. */
import { turn } from "../../kernel/clock.ts";
import { storable } from "../../kernel/storable.ts";
import type { NewJob } from "../../ports/queue/job.ts";
import type { Enqueued } from "../../ports/queue/queue.ts";
import { type Beginning, begunAtOnce, Standbys } from "../../ports/queue/standbys.ts";
import type { Sql } from "./pool.ts";
import { findKnown, insertBeginning, insertJobs, isPlain, newlyQueued } from "./postgres-enqueue.ts";
import { isApart, writePieces } from "./postgres-payloads.ts";

interface Parts {
  sql: Sql;
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** The counters of batches, and those of jobs that are inserted beside them. */
  slots: { shared: number; alone: number };
}

export class Inserts {
  readonly #parts: Parts;
  readonly standbys = new Standbys();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Workers that were answered just before can ask again within a turn, and then the next jobs need no claims. */
  async ready(): Promise<void> {
    if (this.standbys.areExpected) await turn();
  }

  /** Inserts jobs without long bodies. */
  async all(jobs: NewJob[]): Promise<Enqueued[]> {
    const { sql, slots } = this.#parts;
    const beginnings = jobs.every(isPlain) ? this.standbys.deal(jobs) : [];
    if (beginnings.length > 0) return this.#begin(jobs, beginnings);
    return this.#settleKeys(jobs, (left) => insertJobs(sql, left, slots.shared));
  }

  large(jobs: NewJob[]): Promise<Enqueued[]> {
    const { transaction, slots } = this.#parts;
    return this.#settleKeys(jobs, (left) =>
      transaction(async (sql) => {
        const added = await insertJobs(sql, left, slots.alone);
        for (const { id, body } of left) {
          if (isApart(body) && (added === "all" || added.has(id))) await writePieces(sql, id, "body", body);
        }
        return added;
      }),
    );
  }

  async #begin(jobs: readonly NewJob[], beginnings: readonly Beginning[]): Promise<Enqueued[]> {
    const begun = new Set<NewJob>();
    try {
      const happened = await insertBeginning(this.#parts.sql, jobs, beginnings, this.#parts.slots.shared);
      for (const beginning of happened) {
        for (const job of beginning.jobs) begun.add(job);
        beginning.settle(
          beginning.jobs.map((job) => ({
            job: begunAtOnce(newlyQueued(job), beginning),
            body: storable(job.body as string),
          })),
        );
      }
    } finally {
      // Those that were settled above stay as they are.
      for (const { settle } of beginnings) settle([]);
    }
    return jobs.map((job) => {
      const enqueued: Enqueued = { job: newlyQueued(job), known: false };
      return begun.has(job) ? { ...enqueued, hasBegun: true } : enqueued;
    });
  }

  /** A job that was not inserted has a known key. A key may also become free between the two steps; then the insert is tried again. */
  async #settleKeys(jobs: NewJob[], insert: (jobs: NewJob[]) => Promise<Set<string> | "all">): Promise<Enqueued[]> {
    const settled = new Map<NewJob, Enqueued>();
    for (let left = jobs; left.length > 0; left = left.filter((job) => !settled.has(job))) {
      const added = await insert(left);
      if (added === "all" && left === jobs) return jobs.map((job) => ({ job: newlyQueued(job), known: false }));
      for (const job of left)
        if (added === "all" || added.has(job.id)) settled.set(job, { job: newlyQueued(job), known: false });
      const others = left.filter((job) => !settled.has(job));
      if (others.length === 0) break;
      for (const [i, known] of (await findKnown(this.#parts.sql, others)).entries())
        if (known) settled.set(others[i]!, known);
    }
    return jobs.map((job) => settled.get(job)!);
  }
}
