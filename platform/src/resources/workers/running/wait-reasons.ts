/** Why jobs wait, as far as this node can tell from the endpoint's workers. Callers can ask, and changes are logged. */
import { workerOf } from "../../../jobs/holder.ts";
import { isSilent } from "../../../jobs/silence.ts";
import type { Workforce } from "../../../jobs/wait-reason.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Log } from "../../../kernel/log.ts";
import { newsIn, plainText, type Reason, withPlacesHidden } from "../../../kernel/reason.ts";
import type { SilentSince } from "../../../machines/silences.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { WorkerItem } from "../records.ts";
import { isHeldUp, workersReason } from "./workers-reason.ts";

export interface WaitReasonParts {
  clock: Clock;
  log: Log;
  refusal: () => Reason | undefined;
  /** The progress of the image that a worker of this machine waits for. */
  progressOf: (worker: string) => Reason | undefined;
  silentSince: SilentSince;
}

export class WaitReasons {
  readonly #parts: WaitReasonParts;
  readonly #said = new Map<string, string>();

  constructor(parts: WaitReasonParts) {
    this.#parts = parts;
  }

  /** `jobsOf` has the number of jobs of each worker that was heard of lately. */
  of(
    { doc }: Item<KeptEndpoint>,
    workers: readonly WorkerItem[],
    jobsOf: ReadonlyMap<string, number>,
    onlyLowPriority: boolean,
    unknown = 0,
  ): Reason | undefined {
    const { silentSince } = this.#parts;
    const heldUp = new Set(workers.filter((worker) => isHeldUp(worker, silentSince)).map(({ id }) => id));
    const serving = [...jobsOf].filter(([worker]) => !heldUp.has(worker));
    const reason = workersReason({
      endpoint: doc,
      workers,
      live: serving.length,
      busy: serving.filter(([, jobs]) => jobs > 0).length,
      progressOf: this.#parts.progressOf,
      silentSince,
      onlyLowPriority,
      unknown,
      refusal: this.#parts.refusal(),
      now: this.#parts.clock.now(),
    });
    return withPlacesHidden(reason);
  }

  /** Logs the reason if it is new. It is undefined when nothing waits any more. */
  say(endpoint: string, reason: Reason | undefined): void {
    const news = reason && newsIn(reason);
    if (news === this.#said.get(endpoint)) return;
    if (news === undefined) this.#said.delete(endpoint);
    else this.#said.set(endpoint, news);
    if (reason) this.#parts.log.info({ endpoint, code: reason.code, reason: plainText(reason) }, "jobs wait");
  }

  forget(endpoint: string): void {
    this.#said.delete(endpoint);
  }
}

/** The number of jobs of each worker that is not silent. A lost job that it still works on counts too. */
export const jobsOf = ({ holders, freedom }: Workforce) =>
  new Map(
    holders
      .filter((holder) => !isSilent(holder))
      .map(({ holder, jobs }) => [workerOf(holder), jobs + (freedom.overruns.has(holder) ? 1 : 0)]),
  );
