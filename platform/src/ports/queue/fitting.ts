/** What is read together, as much as fits: the bodies of claimed jobs, none read before that is known, and chunks. */
import type { Job } from "./job.ts";
import type { Journal, StoredBody } from "./journal.ts";
import type { LiveJob } from "./live-job.ts";
import type { Chunk, Claimed } from "./queue.ts";

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

/** One at least, then as many as fit; those behind are not looked at. */
export function fittingChunks(chunks: Iterable<Chunk>, most = Number.POSITIVE_INFINITY): Chunk[] {
  const fitting: Chunk[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    bytes += Buffer.byteLength(chunk.text);
    if (bytes > most && fitting.length > 0) break;
    fitting.push(chunk);
  }
  return fitting;
}
