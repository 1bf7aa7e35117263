/** Claims that are not written yet. Most jobs end before a separate write of the claim would be worth it. */
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

  /** Any other write of the job also says who holds it, so its claim needs no write of its own. */
  delete(job: LiveJob): void {
    this.#jobs.delete(job);
  }

  clear(): void {
    this.#jobs.clear();
  }

  /** Returns the entries for the late claims among these jobs. The caller writes them. */
  take(jobs: Iterable<LiveJob>): Entry[] {
    const entries: Entry[] = [];
    for (const job of jobs) {
      if (this.#jobs.delete(job)) entries.push({ do: "update", row: toRow(job, job.position) });
    }
    return entries;
  }

  /** Writes all late claims. */
  async write(): Promise<void> {
    const entries = this.take(this.#jobs);
    if (entries.length > 0) await this.#journal.write(entries);
  }
}
