/** The rules for jobs that several nodes work on: legal moves, one end, and one charge with each end that is paid for. */

import { EmbeddedQueue } from "../../../src/ports/queue/embedded-queue.ts";
import type { MonotonicClock } from "../../../src/ports/queue/holder-book.ts";
import { type Job, jobLifecycle } from "../../../src/ports/queue/job.ts";
import { type Entry, fromRow } from "../../../src/ports/queue/journal.ts";
import { MemoryJournal } from "../../../src/ports/queue/memory-journal.ts";
import type { Queue } from "../../../src/ports/queue/queue.ts";
import { overriding } from "../disk.ts";
import type { FleetWorld } from "./world.ts";

export class JobRules {
  readonly #world: FleetWorld;
  readonly jobs = new Map<string, Job>();
  /** What the ended jobs have cost by the rules. */
  owed = 0;
  readonly #claims = new Set<string>();
  readonly queue: Queue;

  constructor(world: FleetWorld, clock: MonotonicClock) {
    this.#world = world;
    const kept = new MemoryJournal();
    const journal = overriding(kept, {
      write: async (entries: Entry[]) => {
        this.#check(entries);
        return kept.write(entries);
      },
    });
    const queue = new EmbeddedQueue(journal, clock);
    this.queue = overriding<Queue>(queue, {
      claim: async (ask) => {
        const claimed = await queue.claim(ask);
        for (const { job } of claimed) this.#begins(job);
        return claimed;
      },
    });
  }

  get unfinished(): Job[] {
    return [...this.jobs.values()].filter(({ state }) => !jobLifecycle.isFinal(state));
  }

  #check(entries: readonly Entry[]): void {
    let paid = 0;
    let charged = 0;
    for (const entry of entries) {
      if (entry.do === "insert") this.jobs.set(entry.row.id, fromRow(entry.row));
      if (entry.do === "update" && this.#moves(fromRow(entry.row))) paid++;
      if (entry.do === "charge") charged++;
      if (entry.do === "remove") for (const id of entry.ids) this.jobs.delete(id);
      if (entry.do === "removeEndpoint")
        for (const { id, endpoint } of this.jobs.values()) if (endpoint === entry.endpoint) this.jobs.delete(id);
      if (entry.do === "charge") this.owed += entry.charges.amount;
    }
    if (paid !== charged) this.#world.trace.broken(`${paid} ends are paid for, and ${charged} were charged`);
  }

  /** The queue writes claims late, so that they are noted here. */
  #begins(job: Job): void {
    const claim = `${job.id}/${job.attempt}`;
    const { trace } = this.#world;
    trace.note(`claimed by ${job.holder}, attempt ${job.attempt}`, job.id);
    if (this.#claims.has(claim)) trace.broken(`was given to two workers as attempt ${job.attempt}`, job.id);
    this.#claims.add(claim);
    const before = this.jobs.get(job.id);
    if (before?.state === "IN_QUEUE" && before.attempt < job.attempt) this.jobs.set(job.id, job);
  }

  /** Returns whether the job ended now in a way that is paid for. */
  #moves(job: Job): boolean {
    const before = this.jobs.get(job.id);
    const { trace } = this.#world;
    this.jobs.set(job.id, job);
    if (!before) {
      trace.broken(`became ${job.state} when there was no such job`, job.id);
      return false;
    }
    if (before.state === job.state) {
      if (before.state === "IN_PROGRESS" && before.holder !== job.holder)
        trace.broken(`went from ${before.holder} to ${job.holder} while it was in progress`, job.id);
      if (before.endedAt !== job.endedAt) trace.broken(`ended twice as ${job.state}`, job.id);
      return false;
    }
    trace.note(`${before.state} -> ${job.state}${job.holder ? ` by ${job.holder}` : ""}`, job.id);
    const isLegal = Object.values(jobLifecycle.moves).some(
      ({ from, to }) => to === job.state && from.includes(before.state),
    );
    if (!isLegal) trace.broken(`went from ${before.state} to ${job.state}`, job.id);
    if (!jobLifecycle.isFinal(job.state) || before.fare === undefined) return false;
    return job.state === "COMPLETED" || (before.state === "IN_PROGRESS" && job.state !== "FAILED");
  }
}
