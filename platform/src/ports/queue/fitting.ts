/** What is read together, as much as fits: the bodies of claimed jobs, none read before that is known, and chunks. */
import { type Admit, UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import type { Job } from "./job.ts";
import type { Journal, StoredBody } from "./journal.ts";
import type { LiveJob } from "./live-job.ts";
import type { Chunk, Claimed } from "./queue.ts";

export class FittingBodies {
  readonly #journal: Pick<Journal, "body">;
  readonly #most: number;
  readonly #bodies: (string | StoredBody | undefined)[] = [];
  /** Of those that were added, and of the next one that did not fit. */
  #bytes = 0;
  #added = 0;

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
    this.#added = this.#bytes;
    return true;
  }

  /** The jobs in the order in which their bodies were added. */
  async readFor(jobs: readonly Job[], admit?: Admit): Promise<Claimed[]> {
    const isLong = admit !== undefined && this.#added > UNCOUNTED_BYTES;
    if (isLong && !(await isAdmitted(this.#added, admit))) return jobs.map((job) => ({ job, body: undefined }));
    // Most bodies are in memory, and a promise for each would cost more than all else about it.
    if (this.#bodies.every(isText)) return jobs.map((job, i) => ({ job, body: this.#bodies[i] as string }));
    const read = this.#bodies.map((body) => (typeof body === "string" ? body : body?.read()));
    return Promise.all(jobs.map(async (job, i) => ({ job, body: (await read[i])! })));
  }
}

const isText = (body: unknown) => typeof body === "string";

/** Whether what a claim found may be loaded; why not is for the caller that refuses to say. */
export async function isAdmitted(bytes: number, admit: Admit | undefined): Promise<boolean> {
  if (!admit || bytes <= UNCOUNTED_BYTES) return true;
  try {
    await admit(bytes);
    return true;
  } catch {
    return false;
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
