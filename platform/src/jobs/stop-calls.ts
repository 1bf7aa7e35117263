/** Workers that wait to be told which jobs to stop. */
import type { Clock } from "../kernel/clock.ts";
import type { Gone } from "../kernel/gone.ts";
import type { Signals } from "../ports/signals/signals.ts";

export class StopCalls {
  readonly #signals: Signals;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #closed = false;

  constructor({ signals, clock }: { signals: Signals; clock: Clock }) {
    this.#signals = signals;
    this.#clock = clock;
  }

  /** `signalled` is true when this worker may have something to stop, false when the time is up or nobody waits any more. */
  next(worker: string, waitMs: number, gone: Gone): { signalled: Promise<boolean>; cancel: () => void } {
    const { promise: signalled, resolve } = Promise.withResolvers<boolean>();
    const end = (found: boolean) => {
      timer.cancel();
      stopListening();
      gone.removeEventListener("abort", leave);
      this.#waiting.delete(leave);
      resolve(found);
    };
    const leave = () => end(false);
    const timer = this.#clock.after(waitMs, leave);
    const stopListening = this.#signals.listen(`stop:${worker}`, () => end(true));
    gone.addEventListener("abort", leave);
    this.#waiting.add(leave);
    if (gone.aborted || this.#closed) leave();
    return { signalled, cancel: leave };
  }

  /** Lets everyone go, now and from now on. */
  close(): void {
    this.#closed = true;
    for (const leave of [...this.#waiting]) leave();
  }
}
