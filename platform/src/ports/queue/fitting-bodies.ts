/** The bodies of jobs that are claimed together: as many as fit, none of them read before that is known. */
import type { Job } from "./job.ts";
import type { Journal, StoredBody } from "./journal.ts";
import type { LiveJob } from "./live-job.ts";
import type { Claimed } from "./queue.ts";

export class FittingBodies {
  readonly #journal: Pick<Journal, "body">;
  readonly #most: number;
  readonly #bodies: (string | StoredBody | undefined)[] = [];
  #bytes = 0;

  constructor(journal: Pick<Journal, "body">, most: number) {
    this.#journal = journal;
    this.#most = most;
  }

  /** False when it does not fit with those before it; the first always does. */
  add(job: LiveJob): boolean {
    const body = job.body ?? this.#journal.body(job.id);
    // What is kept in memory is so short that its length says enough.
    this.#bytes += typeof body === "string" ? body.length : (body?.bytes ?? 0);
    if (this.#bytes > this.#most && this.#bodies.length > 0) return false;
    this.#bodies.push(body);
    return true;
  }

  /** The jobs in the order in which their bodies were added. */
  async readFor(jobs: readonly Job[]): Promise<Claimed[]> {
    const read = this.#bodies.map((body) => (typeof body === "string" ? body : body?.read()));
    return Promise.all(jobs.map(async (job, i) => ({ job, body: (await read[i])! })));
  }
}
