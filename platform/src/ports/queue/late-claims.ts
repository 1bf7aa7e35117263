/** Claims that are not written down yet: most jobs end before that is worth a write of its own. */
import { type Entry, type Journal, toRow } from "./journal.ts";
import type { LiveJob } from "./live-job.ts";

export class LateClaims {
  readonly #jobs = new Set<LiveJob>();
  readonly #journal: Journal;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  add(job: LiveJob): void {
    this.#jobs.add(job);
  }

  /** Whatever is written of a job says who has it as well. */
  delete(job: LiveJob): void {
    this.#jobs.delete(job);
  }

  clear(): void {
    this.#jobs.clear();
  }

  /** The entries for the claims of these jobs, where they are late; the caller writes them. */
  take(jobs: Iterable<LiveJob>): Entry[] {
    const entries: Entry[] = [];
    for (const job of jobs) {
      if (this.#jobs.delete(job)) entries.push({ do: "update", row: toRow(job, job.position) });
    }
    return entries;
  }

  /** Writes all of them down. */
  async write(): Promise<void> {
    const entries = this.take(this.#jobs);
    if (entries.length > 0) await this.#journal.write(entries);
  }
}
