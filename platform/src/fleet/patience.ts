/** How long is waited for a worker to speak: until its first ask, after its thaw, and between two signs of life. */
import { isProblem } from "../kernel/problem.ts";
import type { Item } from "../ports/store/collection.ts";
import { initTimeoutMs, initTimeoutVariables } from "../resources/endpoints/init-timeout.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import { type Reveal, resolveEnv, UnresolvedEnv } from "../resources/secrets/placeholders.ts";
import type { WorkerItem } from "../resources/workers/records.ts";
import type { Freezer } from "./freezer.ts";
import type { WorkerLog } from "./worker-log.ts";

/** A worker that ran and was not heard of for this long hangs. */
const SILENT_MS = 60_000;

export interface PatienceParts {
  endpoint: (id: string) => Promise<Item<KeptEndpoint> | undefined>;
  workerLog: WorkerLog;
  freezer: Freezer;
  reveal: Reveal;
}

export class Patience {
  readonly #parts: PatienceParts;
  readonly #silentSince = new Map<string, number>();

  constructor(parts: PatienceParts) {
    this.#parts = parts;
  }

  forget(id: string): void {
    this.#silentSince.delete(id);
  }

  /** Why a worker is given up, when it is. A frozen one is silent by right. */
  async overWith(worker: WorkerItem, now: number, isHeard: boolean): Promise<string | undefined> {
    if (!isHeard && worker.doc.state === "READY") return this.#silent(worker, now);
    this.#silentSince.delete(worker.id);
    return !isHeard && worker.doc.state === "STARTING" ? this.#slowStart(worker, now) : undefined;
  }

  #silent({ id }: WorkerItem, now: number): string | undefined {
    const since = this.#silentSince.get(id) ?? now;
    this.#silentSince.set(id, since);
    if (now - since >= SILENT_MS) return `not heard of for ${SILENT_MS / 1000} s`;
    return this.#parts.freezer.overdue(id);
  }

  async #slowStart(worker: WorkerItem, now: number): Promise<string | undefined> {
    const endpoint = await this.#parts.endpoint(worker.doc.endpoint);
    if (!endpoint || worker.doc.startedAt === null) return undefined;
    const limitMs = await this.#startLimitMs(endpoint);
    if (now - worker.doc.startedAt < limitMs) return undefined;
    return this.#parts.workerLog.ending(worker, `did not ask for work within ${limitMs / 1000} s`);
  }
  /** The boot has judged it. Should a secret have changed since, so that nothing can be made of it, the usual time is left. */
  async #startLimitMs({ account, doc }: Item<KeptEndpoint>): Promise<number> {
    try {
      return initTimeoutMs(await resolveEnv(account, initTimeoutVariables(doc.env), this.#parts.reveal));
    } catch (error) {
      if (!(error instanceof UnresolvedEnv) && !isProblem(error)) throw error;
      return initTimeoutMs({});
    }
  }
}
