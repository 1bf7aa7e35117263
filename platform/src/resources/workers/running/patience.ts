/** How long the platform waits for a worker to speak: until its first request for work, after its thaw, and in between. */
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
   * How long a worker that should speak has been silent; a frozen worker need not speak. If the queue no longer knows the worker, the time
   * continues from what was known, or begins now: silence from before this process began does not count.
   */
  silentMs({ id, doc }: WorkerItem, now: number, holder: HolderState | undefined): number {
    const ms = holder ? silentMs(holder) : now - (this.#silentSince.get(id) ?? now);
    if (doc.state === "READY" && (!holder || ms > 0)) this.#silentSince.set(id, now - ms);
    else this.#silentSince.delete(id);
    return doc.state === "READY" ? ms : 0;
  }

  /** Why a worker is given up, or undefined if it is not. */
  async overWith(worker: WorkerItem, now: number, holder: HolderState | undefined): Promise<Reason | undefined> {
    if (worker.doc.state === "STARTING") return this.#slowStart(worker, now, holder);
    if (this.silentMs(worker, now, holder) >= SILENT_MS) return because("worker-silent", { seconds: SILENT_MS / 1000 });
    return worker.doc.state === "READY" && !holder ? this.#parts.freezer.overdue(worker.id) : undefined;
  }

  /**
   * A worker that speaks but is not ready still needs its warm-up. That begins with its first request for work and has a limit of its own.
   */
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
  /** The boot already checked this value. If a secret has changed since and made it invalid, the default limit applies. */
  async #startLimitMs({ account, doc }: Item<KeptEndpoint>): Promise<number> {
    try {
      return initTimeoutMs(await resolveEnv(account, initTimeoutVariables(doc.env), this.#parts.reveal));
    } catch (error) {
      if (!(error instanceof UnresolvedEnv) && !isProblem(error)) throw error;
      return initTimeoutMs({});
    }
  }
}
