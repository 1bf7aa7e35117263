/** How long a worker has been silent, and from when on that has consequences. */
import { type Clock, type Timer, timestamp } from "../kernel/clock.ts";
import { type Reason, saying } from "../kernel/reason.ts";
import type { HolderState } from "../ports/queue/queue.ts";

/** A worker that was silent for this long is lost. */
export const LOST_AFTER_MS = 30_000;

/** Workers ping every 10 s or have a request open. One that does neither for this long is not counted on. */
export const SILENT_AFTER_MS = 15_000;

/** How often a worker with an open request is reported to be alive. */
const SAID_EVERY_MS = 10_000;

/** How long a worker that is not lost yet has been silent. */
export const silentMs = ({ leftMs }: Pick<HolderState, "leftMs">): number => Math.max(0, LOST_AFTER_MS - leftMs);

export const isSilent = (holder: Pick<HolderState, "leftMs">): boolean => silentMs(holder) >= SILENT_AFTER_MS;

const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;

const silenceText = (ms: number, now: number): string =>
  `silent for ${seconds(ms)} (last heard of ${timestamp(now - ms)})`;

export const silenceReason = (ms: number, now: number): Reason =>
  saying("worker-silent", silenceText(ms, now), { seconds: Math.round(ms / 1000) });

/** Says how many workers are silent and for how long, or returns undefined if none is. */
export function silentWorkers(ms: readonly number[], now: number): Reason | undefined {
  if (ms.length === 0) return undefined;
  const longest = Math.max(...ms);
  const many = `${ms.length} workers silent, the longest for ${seconds(longest)} (last heard of ${timestamp(now - longest)})`;
  const text = ms.length === 1 ? `1 worker ${silenceText(longest, now)}` : many;
  return saying("worker-silent", text, { workers: ms.length, seconds: Math.round(longest / 1000) });
}

/** Reports repeatedly that a worker is alive, from when its request starts to wait until it is answered. */
export class OpenQuestion implements Disposable {
  readonly #clock: Clock;
  readonly #say: () => void;
  #timer: Timer | undefined;

  constructor(clock: Clock, say: () => void) {
    this.#clock = clock;
    this.#say = say;
  }

  during<T>(waiting: Promise<T>): Promise<T> {
    if (!this.#timer) this.#arm();
    return waiting;
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    this.#timer = this.#clock.after(SAID_EVERY_MS, () => {
      this.#say();
      this.#arm();
    });
  }
}
