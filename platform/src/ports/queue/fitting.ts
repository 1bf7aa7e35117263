/** Limits how much is read together: the bodies of claimed jobs, whose lengths are checked before any is read, and chunks. */
import { type Admit, UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import type { Job } from "./job.ts";
import type { Journal, StoredBody } from "./journal.ts";
import type { LiveJob } from "./live-job.ts";
import type { Chunk, Claimed } from "./queue.ts";

export class FittingBodies {
  readonly #journal: Pick<Journal, "body">;
  readonly #most: number;
  readonly #bodies: (string | StoredBody | undefined)[] = [];
  /** The bytes of the added bodies, and of the first one that did not fit. */
  #bytes = 0;
  #added = 0;

  constructor(journal: Pick<Journal, "body">, most: number) {
    this.#journal = journal;
    this.#most = most;
  }

  /** Returns false when the body does not fit with those before it. The first always fits. */
  add(job: LiveJob): boolean {
    const body = job.body ?? this.#journal.body(job.id);
    // A body in memory is short, so counting its characters is precise enough.
    this.#bytes += typeof body === "string" ? body.length : (body?.bytes ?? 0);
    if (this.#bytes > this.#most && this.#bodies.length > 0) return false;
    this.#bodies.push(body);
    this.#added = this.#bytes;
    return true;
  }

  /** Returns the jobs with their bodies. They must be in the order in which the bodies were added. */
  async readFor(jobs: readonly Job[], admit?: Admit): Promise<Claimed[]> {
    const isLong = admit !== undefined && this.#added > UNCOUNTED_BYTES;
    if (isLong && !(await isAdmitted(this.#added, admit))) return jobs.map((job) => ({ job, body: undefined }));
    // Most bodies are in memory, and a promise for each would cost more than the rest of the work.
    if (this.#bodies.every(isText)) return jobs.map((job, i) => ({ job, body: this.#bodies[i] as string }));
    const read = this.#bodies.map((body) => (typeof body === "string" ? body : body?.read()));
    return Promise.all(jobs.map(async (job, i) => ({ job, body: (await read[i])! })));
  }
}

const isText = (body: unknown) => typeof body === "string";

/** Whether the bodies of a claim may be loaded. The caller's `admit` keeps the reason for a refusal. */
export async function isAdmitted(bytes: number, admit: Admit | undefined): Promise<boolean> {
  if (!admit || bytes <= UNCOUNTED_BYTES) return true;
  try {
    await admit(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Returns at least one chunk, then as many as fit. The chunks after those are not looked at. */
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
