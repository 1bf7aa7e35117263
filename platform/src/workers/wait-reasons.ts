/** Why jobs wait, as far as this node can tell from the workers of their endpoint: asked for by callers, and logged when it changes. */
import { workerOf } from "../jobs/holder.ts";
import { isSilent } from "../jobs/silence.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { type Reason, withPlacesHidden } from "../kernel/reason.ts";
import type { SilentSince } from "../machines/silences.ts";
import type { HolderState } from "../ports/queue/queue.ts";
import type { Item } from "../ports/store/collection.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import type { WorkerItem } from "../resources/workers/records.ts";
import { isHeldUp, waitSentence } from "./wait-sentence.ts";
import { withoutItsWords } from "./worker-log.ts";

export interface WaitReasonParts {
  clock: Clock;
  log: Log;
  refusal: () => string | undefined;
  /** How far the image is that a worker of this machine waits for. */
  progressOf: (worker: string) => Reason | undefined;
  silentSince: SilentSince;
}

export class WaitReasons {
  readonly #parts: WaitReasonParts;
  readonly #said = new Map<string, string>();

  constructor(parts: WaitReasonParts) {
    this.#parts = parts;
  }

  /** `jobsOf` has the workers that were heard of lately, and how many jobs each has. */
  sentence(
    { doc }: Item<KeptEndpoint>,
    workers: readonly WorkerItem[],
    jobsOf: ReadonlyMap<string, number>,
    onlyLowPriority: boolean,
  ): string | undefined {
    const { silentSince } = this.#parts;
    const heldUp = new Set(workers.filter((worker) => isHeldUp(worker, silentSince)).map(({ id }) => id));
    const serving = [...jobsOf].filter(([worker]) => !heldUp.has(worker));
    const sentence = waitSentence({
      endpoint: doc,
      workers,
      live: serving.length,
      busy: serving.filter(([, jobs]) => jobs > 0).length,
      progressOf: this.#parts.progressOf,
      silentSince,
      onlyLowPriority,
      refusal: this.#parts.refusal(),
      now: this.#parts.clock.now(),
    });
    return withPlacesHidden(sentence);
  }

  /** Undefined when nothing waits any more. */
  say(endpoint: string, reason: string | undefined): void {
    // Seconds that pass and bytes that come are no news.
    const news = reason?.replace(/[\d.]+ (s|MB)\b/g, "");
    if (news === this.#said.get(endpoint)) return;
    if (news === undefined) this.#said.delete(endpoint);
    else this.#said.set(endpoint, news);
    if (reason !== undefined) this.#parts.log.info({ endpoint, reason: withoutItsWords(reason) }, "jobs wait");
  }

  forget(endpoint: string): void {
    this.#said.delete(endpoint);
  }
}

/** How many jobs each worker has that is heard of. */
export const jobsOf = (holders: readonly HolderState[]) =>
  new Map(holders.filter((holder) => !isSilent(holder)).map(({ holder, jobs }) => [workerOf(holder), jobs]));
