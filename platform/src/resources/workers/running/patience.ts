/** How long is waited for a worker to speak: until its first ask, after its thaw, and between two signs of life. */
import { silentMs } from "../../../jobs/silence.ts";
import { isProblem } from "../../../kernel/problem.ts";
import { because, type Reason } from "../../../kernel/reason.ts";
import type { HolderState } from "../../../ports/queue/queue.ts";
import type { Item } from "../../../ports/store/collection.ts";
import { initTimeoutMs, initTimeoutVariables } from "../../endpoints/init-timeout.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import { type Reveal, resolveEnv, UnresolvedEnv } from "../../secrets/placeholders.ts";
import type { WorkerItem } from "../records.ts";
import type { Freezer } from "./freezer.ts";
import type { FleetWarmUps } from "./warm-ups.ts";
import type { WorkerLog } from "./worker-log.ts";

/** A worker that ran and was not heard of for this long hangs. */
const SILENT_MS = 60_000;

export interface PatienceParts {
  endpoint: (id: string) => Promise<Item<KeptEndpoint> | undefined>;
  workerLog: WorkerLog;
  freezer: Freezer;
  reveal: Reveal;
  warmUps: FleetWarmUps;
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

  /**
   * How long nothing was heard of a worker that should speak, which a frozen one need not. Of one that is lost to the queue it is counted
   * on from what was known before, and else from now: what went on before this process began says nothing.
   */
  silentMs({ id, doc }: WorkerItem, now: number, holder: HolderState | undefined): number {
    const ms = holder ? silentMs(holder) : now - (this.#silentSince.get(id) ?? now);
    if (doc.state === "READY" && (!holder || ms > 0)) this.#silentSince.set(id, now - ms);
    else this.#silentSince.delete(id);
    return doc.state === "READY" ? ms : 0;
  }

  /** Why a worker is given up, when it is. */
  async overWith(worker: WorkerItem, now: number, holder: HolderState | undefined): Promise<Reason | undefined> {
    if (worker.doc.state === "STARTING") return this.#slowStart(worker, now, holder);
    if (this.silentMs(worker, now, holder) >= SILENT_MS) return because("worker-silent", { seconds: SILENT_MS / 1000 });
    return worker.doc.state === "READY" && !holder ? this.#parts.freezer.overdue(worker.id) : undefined;
  }

  /** One that is heard of and still not ready must be warmed up, which begins with its first ask and has a limit of its own. */
  async #slowStart(worker: WorkerItem, now: number, holder: HolderState | undefined): Promise<Reason | undefined> {
    const { warmUps } = this.#parts;
    if (worker.doc.warmUp) return warmUps.overdue(worker, now);
    if (holder && !(await warmUps.isDue(worker))) return undefined;
    const endpoint = await this.#parts.endpoint(worker.doc.owner);
    if (!endpoint || worker.doc.startedAt === null) return undefined;
    const limitMs = await this.#startLimitMs(endpoint);
    if (now - worker.doc.startedAt < limitMs) return undefined;
    return this.#parts.workerLog.ending(worker, because("slow-start", { seconds: limitMs / 1000 }));
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
